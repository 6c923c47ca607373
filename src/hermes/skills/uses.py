"""Count how often each skill was used: one line a use, compacted when there are many.

Each line is appended in one write, so it survives a crash; only a power cut may lose the last ones.
"""

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from hermes.views.files import make_folder, whole_file

FILE = ".uses.jsonl"
BYTES_MAX = 64_000  # compact the file beyond this


class Uses(Struct, frozen=True, kw_only=True):
    count: int = 0
    last_at: float = 0.0


class _Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One use by one call, or the sum of many."""

    name: str
    at: float
    by: str = ""
    count: int = 1


_line = msgspec.json.Decoder(_Line)


class UseCounter:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / FILE

    def note(self, name: str, by: str, at: float) -> None:
        """Count a use. An error is ignored: the skill can be used all the same."""
        line = msgspec.json.encode(_Line(name=name, at=at, by=by)) + b"\n"
        try:
            make_folder(self._folder)
            handle = self._opened()
            try:
                os.write(handle, line)
                if os.fstat(handle).st_size > BYTES_MAX:
                    self._put_together()
            finally:
                os.close(handle)
        except OSError:
            return

    def _opened(self) -> int:
        """Return a locked file descriptor. Reopen if another process compacted the file
        meanwhile."""
        while True:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if self._file.exists() and self._file.stat().st_ino == os.fstat(handle).st_ino:
                return handle
            os.close(handle)

    def counted(self) -> Mapping[str, Uses]:
        """Return the uses by skill. A call counts once; an unreadable line counts as nothing."""
        found: dict[str, Uses] = {}
        seen: set[tuple[str, str]] = set()
        for line in self._lines():
            if line.by and (line.name, line.by) in seen:
                continue
            seen.add((line.name, line.by))
            before = found.get(line.name, Uses())
            found[line.name] = Uses(
                count=before.count + line.count, last_at=max(before.last_at, line.at)
            )
        return found

    def _lines(self) -> list[_Line]:
        try:
            raw = self._file.read_bytes()
        except OSError:
            return []
        lines = []
        for row in raw.splitlines():
            try:
                lines.append(_line.decode(row))
            except msgspec.MsgspecError:
                continue
        return lines

    def _put_together(self) -> None:
        sums = [
            _Line(name=name, at=uses.last_at, count=uses.count)
            for name, uses in sorted(self.counted().items())
        ]
        whole_file(self._file, b"".join(msgspec.json.encode(line) + b"\n" for line in sums))
