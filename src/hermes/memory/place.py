"""The memory folder: one lock, one history, and files that are replaced atomically.

A file is changed in this order: store the new text under its digest, write it beside the file,
record the change in the history, then move it into place. A crash between any two steps is repaired
the next time the folder is opened. An edit that a person saves at the same instant is kept (no
TOCTOU window): the old file is moved aside and checked, and the new one is linked in only if no
file has appeared in its place.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from hermes.core.errors import StoreBusy, StoreFailed
from hermes.memory.ledger import MemoryLedger, Record, record_of
from hermes.views.files import flush_folder, is_full, make_folder, new_file, unwritable, whole_file

HISTORY, KEPT, LOCK = "history.jsonl", "versions", ".lock"
FILE_BYTES_MAX = 1_000_000
LOCK_S_MAX = 10.0
LOCK_STEP_S = 0.01
NOTHING = hashlib.sha256(b"").hexdigest()


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class MemoryFolder:
    """Every method but `read` must be called inside `locked`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ledger, self._read_to, self._inode = MemoryLedger(), 0, 0

    @contextmanager
    def locked(self) -> Iterator[MemoryLedger]:
        """Hold the lock between processes and yield the up-to-date ledger. Raise StoreFailed."""
        with _failures(self._path):
            make_folder(self._path)
            lock = os.open(self._path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _wait_for(lock)
            with _failures(self._path):
                self._catch_up()
            yield self._ledger
        finally:
            os.close(lock)

    def _catch_up(self) -> None:
        """Read new lines of the history. An incomplete last line was never acted on, so drop it."""
        try:
            handle = os.open(self._path / HISTORY, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._ledger, self._read_to, self._inode = MemoryLedger(), 0, 0
            return
        with os.fdopen(handle, "rb") as file:
            stat = os.fstat(file.fileno())
            if stat.st_ino != self._inode or stat.st_size < self._read_to:
                self._ledger, self._read_to, self._inode = MemoryLedger(), 0, stat.st_ino
            file.seek(self._read_to)
            whole, end, _half = file.read().rpartition(b"\n")
        for line in whole.splitlines():
            if (record := record_of(line)) is not None:
                self._ledger.add(record)
        self._read_to += len(whole) + len(end)

    def record(self, record: Record) -> None:
        """Append a record to the history; it is durable on return."""
        content = msgspec.json.encode(record) + b"\n"
        with _failures(self._path / HISTORY):
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
            handle = os.open(self._path / HISTORY, flags, 0o600)
            with os.fdopen(handle, "wb") as file:
                fresh = os.fstat(file.fileno()).st_size == 0
                file.truncate(self._read_to)
                file.seek(self._read_to)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                self._inode = os.fstat(file.fileno()).st_ino
            if fresh:
                flush_folder(self._path)
        self._read_to += len(content)
        self._ledger.add(record)

    def keep(self, content: bytes) -> str:
        """Store a version of the text under its digest, for ever. Return the digest."""
        digest = digest_of(content)
        kept = self._path / KEPT / f"{digest}.md"
        with _failures(kept):
            if not kept.exists():
                whole_file(kept, content)
        return digest

    def kept(self, digest: str) -> bytes | None:
        if digest == NOTHING:
            return b""
        with _failures(self._path / KEPT), suppress(FileNotFoundError):
            content = (self._path / KEPT / f"{digest}.md").read_bytes()
            return content if digest_of(content) == digest else None
        return None

    def read(self, name: str) -> bytes:
        """Return the file's bytes, b"" if it does not exist. Raise StoreFailed, also if it is too
        large."""
        file = self._path / name
        with _failures(file):
            try:
                with file.open("rb") as opened:
                    content = opened.read(FILE_BYTES_MAX + 1)
            except FileNotFoundError:
                return b""
        if len(content) > FILE_BYTES_MAX:
            raise StoreFailed(
                f"{file}: larger than {FILE_BYTES_MAX:,} bytes. Move a part elsewhere"
            )
        return content

    def prepare(self, name: str, content: bytes) -> None:
        """Write the next text beside the file; `swap` puts it in its place."""
        file, ahead, _aside = self._names(name)
        with _failures(file):
            new_file(ahead, content)
            with suppress(FileNotFoundError):
                ahead.chmod(file.stat().st_mode & 0o777)

    def swap(self, name: str, before: str) -> bool:
        """Move the prepared text into place. Return False, and keep the file, if it changed since
        `before`."""
        file, ahead, aside = self._names(name)
        with _failures(file):
            _move(file, aside)
            if digest_of(_bytes(aside)) != before or not _link(ahead, file):
                _link(aside, file)
                return False
            if digest_of(_bytes(aside)) != before:  # written through an open handle meanwhile
                aside.replace(file)
                return False
            aside.unlink(missing_ok=True)
            ahead.unlink(missing_ok=True)
            flush_folder(file.parent)
        return True

    def heal(self, name: str, before: str, after: str) -> None:
        """Finish a swap that a crash interrupted, using the digests from the history."""
        file, ahead, aside = self._names(name)
        if not ahead.exists() and not aside.exists():
            return
        with _failures(file):
            if not file.exists() and aside.exists():
                _link(aside, file)
            meant = ahead.exists() and digest_of(ahead.read_bytes()) == after
            if meant and before != after and digest_of(_bytes(file)) == before:
                self.swap(name, before)
            aside.unlink(missing_ok=True)
            ahead.unlink(missing_ok=True)

    def path(self, name: str) -> Path:
        return self._path / name

    def exists(self) -> bool:
        return self._path.exists()

    def _names(self, name: str) -> tuple[Path, Path, Path]:
        """Return the paths of the file, the new text and the old text. A symbolic link is kept: its
        target is replaced."""
        file = (self._path / name).resolve()
        return file, file.with_name(f".{file.name}.next"), file.with_name(f".{file.name}.aside")


def _wait_for(lock: int) -> None:
    deadline = time.monotonic() + LOCK_S_MAX
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            if time.monotonic() > deadline:
                raise StoreBusy("the memories are being changed by another process") from held
            time.sleep(LOCK_STEP_S)
        else:
            return


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as refused:
        if is_full(refused):
            raise unwritable(path, refused) from refused
        raise StoreFailed(f"{path}: cannot be used ({refused.strerror})") from refused


def _move(file: Path, aside: Path) -> None:
    aside.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        file.rename(aside)


def _link(source: Path, file: Path) -> bool:
    """Hard-link `source` to `file`; return False if it exists. Rename where the disk has no
    links."""
    try:
        os.link(source, file)
    except FileExistsError:
        return False
    except FileNotFoundError:
        return True  # the source does not exist either: nothing to do
    except OSError:
        if file.exists():
            return False
        source.rename(file)
    return True


def _bytes(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""
