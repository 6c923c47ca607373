"""Files that hold what is private: whole or not there, and readable by their owner alone."""

import os
from contextlib import suppress
from pathlib import Path

from hermes.core.errors import StoreFailed


def whole_file(path: str | Path, content: bytes) -> None:
    """Replace a file in one step; nobody ever sees half of it. Raises StoreFailed.

    A link stays: what it leads to is replaced.
    """
    target = Path(path).resolve()
    half = target.with_name(f".{target.name}.{os.getpid()}.half")
    try:
        handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        half.replace(target)
        flush_folder(target.parent)
    except OSError as refused:
        with suppress(OSError):
            half.unlink(missing_ok=True)
        raise StoreFailed(f"{target}: cannot be written ({refused.strerror})") from refused


def flush_folder(folder: Path) -> None:
    """Make a rename in it survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
