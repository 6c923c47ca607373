"""What is to be known of an agent so that it can be measured like the others."""

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LONG_KEY = "0f6b27c41d9e4c58a3b7"  # some refuse to start with a short one
TOKEN = "4242:TEST-token-of-the-double"  # noqa: S105 (of the Bot API's double)
PERSON = 7  # who writes there

Words = tuple[str, ...]


class NotHere(Exception):
    """It cannot be run on this machine; the text says why."""


@dataclass(frozen=True)
class Installed:
    """Where it is, and what it came to. `folder` is all that was put there."""

    folder: Path
    program: Words
    version: str = ""
    packages: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Ground:
    """A home of its own, the model to ask, and perhaps a Bot API to talk to people by."""

    home: Path
    model: int
    port: int = 0
    bot_api: str = ""  # base URL of the double
    proxy: str = ""  # the same, for who cannot be told a URL: a proxy that leads there
    authority: str = ""  # … and the file with the authority that vouches for it

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def model_url(self) -> str:
        return f"http://127.0.0.1:{self.model}/v1"


@dataclass(frozen=True)
class Launch:
    words: Words
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None

    def environ(self, home: Path) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": str(home), **self.env}


class Peer(ABC):
    """`tool` runs a command of the shell: its name, and the argument that takes the command."""

    name: str  # as in files and options
    label: str  # as people call it
    how: str  # what is driven, for the document
    settled: str  # what is set other than the model, for the document
    tool: tuple[str, str] = ("terminal", "command")

    def prepare(self, folder: Path) -> None:  # noqa: B027 (most need nothing)
        """What has to be there before, in the same folder; not a part of what is measured."""

    @abstractmethod
    def install(self, folder: Path) -> Installed:
        """Into this folder, from the registries. Raises NotHere."""

    @abstractmethod
    def equip(self, installed: Installed) -> None:
        """Add what its chat platforms need; not a part of what is measured."""

    @abstractmethod
    def version(self, installed: Installed) -> Launch: ...

    @abstractmethod
    def ask(self, installed: Installed, ground: Ground, text: str) -> Launch:
        """One question, answered on standard output."""

    @abstractmethod
    def gateway(self, installed: Installed, ground: Ground) -> Launch:
        """The long-running process: HTTP on the ground's port, or people on its Bot API."""

    @abstractmethod
    def request(self, session: str, text: str) -> tuple[Mapping[str, str], Mapping[str, object]]:
        """Headers and body of a POST to /v1/chat/completions."""

    health = "/health"


def environment(folder: Path, *packages: str) -> Installed:
    """A new Python environment that holds these and nothing else."""
    where = folder / "env"
    python = where / "bin" / "python"
    words = [sys.executable, "-m", "venv", "--without-pip", str(where)]
    subprocess.run(words, check=True, env=clean())
    add(python, *packages)
    return Installed(where, (str(python),), packages=len(list(where.rglob("*.dist-info"))))


def add(python: Path, *packages: str) -> None:
    """By the installer that ours uses, too: uv where it is, or the pip of the base interpreter."""
    if uv := shutil.which("uv"):
        words = [uv, "pip", "install", "--quiet", "--no-cache", "--python", str(python)]
    else:
        base = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
        words = [str(base), "-m", "pip", "--python", str(python), "install", "--quiet"]
    pip = {"PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    words += packages
    said = subprocess.run(words, env=clean() | pip, capture_output=True, text=True, check=False)
    if said.returncode:
        raise NotHere(f"not installed: {(said.stderr.strip() or 'no word').splitlines()[-1]}")


def clean() -> dict[str, str]:
    """Our environment, without what would make a foreign program think of us."""
    left_out = ("HERMES_", "PYTHONPATH")
    return {name: text for name, text in os.environ.items() if not name.startswith(left_out)}


def size_of(folder: Path) -> int:
    """Bytes of all files, as they lie on the disk."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*") if not path.is_symlink())
