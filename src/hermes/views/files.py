"""Files that hold what is private: whole or not there, and readable by their owner alone."""

import os
import threading
from contextlib import suppress
from pathlib import Path

from hermes.core.errors import StoreFailed


def whole_file(path: Path, content: bytes) -> None:
    """Replace a file in one step, durably; nobody ever sees half of it. Raises StoreFailed.

    A link under that name is replaced, not followed; who wants it followed resolves it first. A
    folder that is missing is made, closed to others.
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
        raise StoreFailed(f"{path} cannot be written ({refused.strerror})") from refused


def new_file(path: Path, content: bytes) -> None:
    """Flushed when it returns. What stood under that name, a link too, is gone. Raises OSError."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def make_folder(path: Path) -> None:
    """With those above it: every one that is made is closed to others. Raises OSError."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def flush_folder(folder: Path) -> None:
    """Make what happened in it survive a power cut. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
