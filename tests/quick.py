"""Folders in memory, where there is such a place, for tests that write a lot."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM_BYTES = 2 * 1024**3  # containers often give it 64 MB


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A process that is killed leaves there all that it has written, as on a disk; only a power
    cut differs."""
    place = MEMORY if os.access(MEMORY, os.W_OK) and _room() >= ROOM_BYTES else None
    with tempfile.TemporaryDirectory(prefix="hermes-test-", dir=place) as folder:
        yield Path(folder)


def _room() -> int:
    return shutil.disk_usage(MEMORY).free
