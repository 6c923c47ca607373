"""What tests of any kind may ask for."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """Like tmp_path, but in memory where there is such a place, for what writes a lot. A process
    that is killed leaves there all that it has written, as on a disk; only a power cut differs."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="hermes-test-", dir=MEMORY))
    yield folder
    shutil.rmtree(folder)
