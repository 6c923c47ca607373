"""A small checkout of our own, with real installers, that needs no network: one tiny wheel."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make_wheel(folder: Path, version: str) -> str:
    """Write a wheel that holds one module, always the same bytes, and return its hash."""
    inside = {
        "feather.py": f"version = {version!r}\n",
        f"feather-{version}.dist-info/METADATA": (
            f"Metadata-Version: 2.1\nName: feather\nVersion: {version}\n"
        ),
        f"feather-{version}.dist-info/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    record = f"feather-{version}.dist-info/RECORD"
    rows = []
    for name, text in inside.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{name},sha256={digest.decode()},{len(text)}")
    inside[record] = "\n".join([*rows, f"{record},,", ""])
    path = folder / f"feather-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in inside.items():
            wheel.writestr(zipfile.ZipInfo(name), text)
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
            **more,
        }

    def begin(self, *words: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.launcher, *words],
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
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
