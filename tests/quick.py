"""Folders in memory, where there is such a place, for tests that write a lot.

A process that is killed leaves there all that it has written, as on a disk; only a power cut
differs. They are below /dev, which means something to the policy: no place for a workspace.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
PREFIX = "ht-"  # and the process that uses it; short, as names of sockets must be
ROOM_BYTES = 2 * 1024**3  # containers often give it 64 MB


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder that is removed in the end."""
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-", dir=memory()) as folder:
        yield Path(folder)


def memory() -> Path | None:
    """Where folders in memory are; None where there is no room for them."""
    there = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM_BYTES
    return MEMORY if there else None


def sweep() -> None:
    """Remove the folders of runs that were killed: they would take up memory for ever."""
    for left in MEMORY.glob(f"{PREFIX}*-*"):
        owner = left.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            shutil.rmtree(left, ignore_errors=True)
