"""Write private files: atomically, durably, and readable by their owner only."""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.core.errors import StoreFailed, StoreFull
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = LazyModule("tempfile")

FULL = (errno.ENOSPC, errno.EDQUOT)


def whole_file(path: Path, content: bytes) -> None:
    """Replace a file atomically and durably, so that no reader ever sees half of it. Raise
    StoreFailed.

    A link of that name is replaced, not followed; resolve the path first to follow it. Missing
    folders are created, closed to other users.
    """
    half = path.with_name(f".{path.name}.{threading.get_native_id()}.half")
    try:
        make_folder(path.parent)
        new_file(half, content)
        half.replace(path)
        flush_folder(path.parent)
    except OSError as refused:
        with suppress(OSError):
            half.unlink(missing_ok=True)
        raise unwritable(path, refused) from refused


def is_full(error: OSError) -> bool:
    """Return True if the disk is full or the quota is used up."""
    return error.errno in FULL


def reason(error: OSError) -> str:
    """Return the reason of an error; a full disk has the same wording everywhere."""
    return "the disk is full" if is_full(error) else error.strerror or str(error)


def unwritable(path: Path, error: OSError) -> StoreFailed:
    """Return the StoreFailed to raise when a file or a folder cannot be written."""
    if is_full(error):
        return StoreFull(f"{path} cannot be written: the disk is full. Free some space")
    return StoreFailed(f"{path} cannot be written ({error.strerror})")


def new_file(path: Path, content: bytes) -> None:
    """Create a file and flush it. An existing file or link of that name is removed. Raise
    OSError."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def make_folder(path: Path) -> None:
    """Create a folder and its parents, each closed to other users. Raise OSError."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def flush_folder(folder: Path) -> None:
    """Flush a folder, so that its entries survive a power cut. Raise OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new temporary folder, and remove it with its content afterwards."""
    with tempfile.TemporaryDirectory(prefix="hermes-") as folder:
        yield Path(folder)
