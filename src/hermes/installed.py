"""Find out how this copy of Hermes was installed and called, and which commands follow from that.

Every hint about an optional package comes from here: a clone adds an extra in another way than an
environment of pip, pipx or uv. Our distribution is called hermes-durable; the name without the
second word belongs to another project.
"""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

DISTRIBUTION: Final = "hermes-durable"
STAMP: Final = "hermes-stamp"  # as setup/environment.py writes it
CALLED: Final = "hermes"  # the -X option by which the clone's launcher tells how it was called
LOCAL: Final = "local"  # what runs a built-in model: no extra, it comes without its needs
LOCAL_PACKAGES: Final = ("xllamacpp",)
CONTAINER_MARKS: Final = ("/.dockerenv", "/run/.containerenv")
METADATA_BYTES_MAX: Final = 1_000_000

Kind = Literal["clone", "pipx", "uv tool", "pip", "source"]


class Installation(NamedTuple):
    """One installed copy. `root` is the checkout of a clone, or the folder of the source that runs
    uninstalled; `metadata` is the folder in which the installer recorded what it installed."""

    kind: Kind
    python: str
    root: Path | None = None
    metadata: Path | None = None
    container: bool = False

    def to_add(self, extra: str) -> str:
        """Return the command that adds an extra to this very copy."""
        if self.kind == "clone":
            return f"HERMES_WITH={extra} {launcher(self.root or Path())} --version"
        if extra == LOCAL:
            return self._without_needs(LOCAL_PACKAGES)
        if self.kind == "pipx":
            needs = " ".join(map(shlex.quote, self._needs(extra))) or shlex.quote(extra)
            return f"pipx inject {DISTRIBUTION} {needs}"
        if self.kind == "uv tool":
            return f"uv tool install --force {shlex.quote(self._wanted(extra))}"
        if self.kind == "source":
            return f"{self._pip_install()} {shlex.quote(f'{self.root}[{extra}]')}"
        return f"{self._pip_install()} {shlex.quote(f'{DISTRIBUTION}[{extra}]')}"

    def to_renew(self, package: str) -> str:
        """Return the command that upgrades a package that is too old."""
        match self.kind:
            case "clone":
                root = self.root or Path()
                place = shlex.quote(str(Path(self.python).parents[1]))
                return f"rm -r {place} && {launcher(root)} --version"
            case "pipx":
                return f"pipx runpip {DISTRIBUTION} install --upgrade {package}"
            case "uv tool":
                return f"uv tool upgrade {DISTRIBUTION} --upgrade-package {package}"
            case _:
                return f"{self._pip_install()} --upgrade {package}"

    def to_update(self) -> str:
        """Return the command that updates the program to its newest version."""
        match self.kind:
            case "clone" | "source":
                return f"git -C {shlex.quote(str(self.root))} pull"
            case "pipx":
                return f"pipx upgrade {DISTRIBUTION}"
            case "uv tool":
                return f"uv tool upgrade {DISTRIBUTION}"
            case _:
                return f"{self._pip_install()} --upgrade {DISTRIBUTION}"

    def _without_needs(self, packages: Sequence[str]) -> str:
        """Return the command that installs packages without their dependencies. `uv tool` always
        resolves dependencies, so pip installs into the tool's environment directly."""
        words = " ".join(("--no-deps", *packages))
        if self.kind == "pipx":
            return f"pipx runpip {DISTRIBUTION} install {words}"
        return f"{self._pip_install()} {words}"

    def _pip_install(self) -> str:
        if self._noted("INSTALLER").strip() == "uv":
            return f"uv pip install --python {shlex.quote(self.python)}"
        return f"{shlex.quote(self.python)} -m pip install"

    def _needs(self, extra: str) -> list[str]:
        """Return the packages behind an extra, as listed in this copy's own metadata."""
        found = []
        for line in self._noted("METADATA").splitlines():
            need, _, marker = line.removeprefix("Requires-Dist:").partition(";")
            named = marker.replace("'", '"').replace(" ", "")
            if line.startswith("Requires-Dist:") and f'extra=="{extra}"' in named:
                found.append(need.strip())
        return found

    def _wanted(self, extra: str) -> str:
        """Return the requirement for an extra. A copy that was installed from a folder or a URL
        names it, because no package index has it."""
        text = self._noted("direct_url.json")
        _, _, rest = text.partition('"url"')
        url = rest.partition('"')[2].partition('"')[0]
        return f"{DISTRIBUTION}[{extra}]" + (f" @ {url}" if url else "")

    def _noted(self, name: str) -> str:
        if self.metadata is None:
            return ""
        try:
            with (self.metadata / name).open("rb") as file:
                return file.read(METADATA_BYTES_MAX).decode("utf-8", "replace")
        except OSError:
            return ""


def how_installed(
    prefix: Path | None = None,
    path: Sequence[str] | None = None,
    *,
    containers: Sequence[str] = CONTAINER_MARKS,
) -> Installation:
    """Find out how this copy was installed, by the files that each installer leaves behind."""
    python = sys.executable if prefix is None else str(prefix / "bin" / "python")
    prefix = Path(sys.prefix) if prefix is None else prefix
    inside = any(Path(mark).exists() for mark in containers)
    metadata = _metadata(sys.path if path is None else path)
    kind: Kind = "pip" if metadata is not None else "source"
    root = checkout(prefix)
    if root is not None:
        kind = "clone"
    elif (prefix / "pipx_metadata.json").is_file():
        kind = "pipx"
    elif (prefix / "uv-receipt.toml").is_file():
        kind = "uv tool"
    elif kind == "source":
        root = Path(__file__).parents[2]
    return Installation(kind=kind, python=python, root=root, metadata=metadata, container=inside)


def how_to_add(extra: str, installation: Installation | None = None) -> str:
    """Return a hint about an extra: the one command that adds it to the running copy."""
    found = how_installed() if installation is None else installation
    command = found.to_add(extra)
    if not found.container:
        return command
    return f"{command}   (in a container: also as a RUN line of its Dockerfile, so that it stays)"


def how_to_renew(package: str) -> str:
    return how_installed().to_renew(package)


def checkout(prefix: Path | None = None) -> Path | None:
    """Return the checkout whose ./hermes made this environment; None for any other environment."""
    place = Path(sys.prefix) if prefix is None else prefix
    try:
        lines = (place / STAMP).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    roots = [Path(line.removeprefix("root ")) for line in lines if line.startswith("root ")]
    return next((root for root in roots if os.access(root / "hermes", os.X_OK)), None)


def program_name(environ: Mapping[str, str] = os.environ) -> str:
    """Return what a person types to run this program: `hermes` once that is on the PATH, else the
    path by which it was called."""
    called = called_as()
    if not called:
        return "hermes"
    found = on_path(environ)
    if found and os.path.realpath(found) == os.path.realpath(called):
        return "hermes"
    return shlex.quote(called)


def started_by_launcher() -> bool:
    """Return True if ./hermes of the checkout that made this environment started this process."""
    root = checkout() if isinstance(_told(), str) else None
    return root is not None and os.path.realpath(called_as()) == os.path.realpath(root / "hermes")


def called_as() -> str:
    """Return the path of the launcher or script that started this process; empty for `python -m
    hermes`."""
    told = _told()
    if isinstance(told, str):
        return told
    script = sys.argv[0] if sys.argv else ""
    return script if Path(script).name == "hermes" else ""


def on_path(environ: Mapping[str, str]) -> str:
    """Return the program that the shell would run for `hermes`; empty when there is none."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        file = Path(folder or ".", "hermes")
        if file.is_file() and os.access(file, os.X_OK):
            return str(file)
    return ""


def launcher(root: Path) -> str:
    """Return the clone's own ./hermes, relative or absolute as the person called it."""
    called = called_as()
    if called and os.path.realpath(called) == os.path.realpath(root / "hermes"):
        return shlex.quote(called)
    return shlex.quote(str(root / "hermes"))


def _told() -> str | bool | None:
    return sys._xoptions.get(CALLED)  # noqa: SLF001 - documented, for programs such as this


def _metadata(path: Sequence[str]) -> Path | None:
    name = f"{DISTRIBUTION.replace('-', '_')}-*.dist-info"
    found = (each for folder in path for each in Path(folder or ".").glob(name))
    return next(found, None)
