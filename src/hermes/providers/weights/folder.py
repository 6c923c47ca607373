"""The folder of weights: a file with a name of the list is whole and was checked.

What is being fetched lies beside it as `NAME.gguf.part`, and its length says how much is there: so
a download that was killed goes on from there, at any place. A lock on it lets one of several
processes fetch while the others wait.
"""

import fcntl
import hashlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hermes.core.errors import StoreFull
from hermes.providers.weights.catalogue import Weights
from hermes.views.files import flush_folder, is_full, make_folder, unwritable

PART: Final = ".part"
SCRATCH: Final = ".packages"
LEFT_FREE_BYTES: Final = 100_000_000  # a disk that is filled to its end harms everything else


class PartialFile:
    """The beginning of a file of weights."""

    def __init__(self, file: io.FileIO, path: Path, weights: Weights) -> None:
        self._file = file
        self._path = path
        self._weights = weights
        self.size = file.seek(0, os.SEEK_END)
        if self.size > weights.bytes:
            self.clear()

    def add(self, piece: bytes) -> None:
        """Append. Raise StoreFull when the disk is full; what is there stays."""
        left = memoryview(piece)
        try:
            while left:
                written = self._file.write(left)
                self.size += written
                left = left[written:]
        except OSError as refused:
            raise self._unwritable(refused) from refused

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self.size = 0

    def is_right(self) -> bool:
        """Return True if the whole file has the digest that it is named by."""
        self._file.seek(0)
        digest = hashlib.file_digest(self._file, "sha256").hexdigest()
        self._file.seek(0, os.SEEK_END)
        return self.size == self._weights.bytes and digest == self._weights.sha256

    def keep(self) -> Path:
        """Give the file its name, durably."""
        final = self._path.with_name(self._weights.file_name)
        try:
            os.fsync(self._file.fileno())
            self._path.replace(final)
            flush_folder(final.parent)
        except OSError as refused:
            raise self._unwritable(refused) from refused
        return final

    def demand_room(self, more: int) -> None:
        """Raise StoreFull if the rest of the file, and so much more beside it, does not fit."""
        needed = self._weights.bytes - self.size + more + LEFT_FREE_BYTES
        free = shutil.disk_usage(self._path.parent).free
        if free < needed:
            raise StoreFull(
                f"{self._weights.title} needs {needed / 1e6:,.0f} MB more in {self._path.parent}, "
                f"and {free / 1e6:,.0f} MB are free. Free some space, or set model.weights to a "
                "folder on another disk"
            )

    def _unwritable(self, refused: OSError) -> Exception:
        if is_full(refused):
            return StoreFull(
                f"{self._path} cannot be written: the disk is full. What was fetched is kept; free "
                "some space and start again, or set model.weights to a folder on another disk"
            )
        return unwritable(self._path, refused)


class WeightsFolder:
    """The files of weights on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file_of(self, weights: Weights) -> Path | None:
        """Return the file, if it is here. It was checked when it got its name."""
        file = self.path / weights.file_name
        try:
            return file if file.stat().st_size == weights.bytes else None
        except OSError:
            return None

    def partial_bytes(self, weights: Weights) -> int:
        """Return how much of a file is here already, of a download that was cut off."""
        try:
            return (self.path / f"{weights.file_name}{PART}").stat().st_size
        except OSError:
            return 0

    def free_bytes(self) -> int:
        """Return how much fits on the disk of this folder, which may not exist yet."""
        place = self.path
        while not place.exists() and place != place.parent:
            place = place.parent
        return shutil.disk_usage(place).free

    @contextmanager
    def partial(self, weights: Weights, wait: Callable[[], None]) -> Iterator[PartialFile]:
        """Open the beginning of a file, alone. `wait` is called when another process has it."""
        path = self.path / f"{weights.file_name}{PART}"
        try:
            make_folder(self.path)
            file = io.FileIO(path, "a+")
        except OSError as refused:
            raise unwritable(path, refused) from refused
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                wait()
                fcntl.flock(file, fcntl.LOCK_EX)
            yield PartialFile(file, path, weights)
            if not path.exists():
                return
            if self.file_of(weights) is not None:  # another process has finished it meanwhile
                path.unlink(missing_ok=True)

    @contextmanager
    def scratch(self, weights: Weights) -> Iterator[Path]:
        """Yield an empty folder on the same disk. One that a killed process left is removed."""
        place = self.path / f"{weights.name}{SCRATCH}"
        shutil.rmtree(place, ignore_errors=True)
        make_folder(place)
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
