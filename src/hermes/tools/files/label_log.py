"""The log of labels: a file of our own home, appended to by every process that uses the home."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes.views.files import make_folder, whole_file

FILE: Final = "file_labels.jsonl"
LOG_BYTES_MAX: Final = 50_000_000  # a larger log is no log of ours


class LabelLog:
    """Lines of JSON. It knows how far it was read. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / FILE if folder is not None else None
        self._read: tuple[int, int] = (0, 0)  # inode and bytes that are known

    @property
    def is_kept(self) -> bool:
        return self._file is not None

    def append(self, lines: bytes) -> None:
        """Durably. Raises OSError."""
        if self._file is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self._file, flags, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
            status = os.fstat(file.fileno())
        self._read = (status.st_ino, status.st_size)

    def rewrite(self, lines: bytes) -> None:
        """Put these in the place of all. Raises StoreFailed and OSError."""
        if self._file is None:
            return
        whole_file(self._file, lines)
        status = self._file.stat()
        self._read = (status.st_ino, status.st_size)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Another process of this home may write, too. Raises OSError."""
        if self._file is None:
            yield
            return
        make_folder(self._file.parent)
        lock = self._file.with_name(f".{FILE}.lock")
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def news(self) -> tuple[bool, list[bytes]]:
        """The whole lines that were written since the last look. True: they are all that there is,
        because the log was written again. Raises OSError."""
        if self._file is None:
            return False, []
        try:
            status = self._file.stat()
        except OSError:
            return False, []
        inode, known = self._read
        if (status.st_ino, status.st_size) == (inode, known) or status.st_size > LOG_BYTES_MAX:
            return False, []
        again = status.st_ino != inode or status.st_size < known
        known = 0 if again else known
        with self._file.open("rb") as file:
            file.seek(known)
            content = file.read(LOG_BYTES_MAX)
        whole = content.rpartition(b"\n")[0]
        self._read = (status.st_ino, known + len(whole) + (1 if b"\n" in content else 0))
        return again, list(filter(None, whole.split(b"\n")))
