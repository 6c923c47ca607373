"""Points at which a process can die, found by counting, not by typing them in.

A point is every physical write and flush of the database (seen by a VFS below SQLite) and every
touch of the outside world (a tool's effect, a model asked, a message sent). A new write anywhere
is a new point by itself.
"""

import os
import signal
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import apsw

How = Literal["before", "inside", "after"]
VFS = "fused"


@dataclass
class Fuse:
    """Kills this process with SIGKILL at the n-th point. 0: never; then it only counts."""

    at: int = 0
    how: How = "before"
    trace: Path | None = None
    count: int = 0
    labels: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reach(self, label: str) -> bool:
        """Count a point, and die here if it is the one to die before. True: die inside or after."""
        with self.lock:
            self.count += 1
            self.labels.append(label)
            mine = self.count == self.at
        if mine and self.how == "before":
            die()
        return mine

    def leave(self, mine: bool) -> None:
        if mine:
            die()

    def write_trace(self) -> None:
        if self.trace is not None:
            self.trace.write_text("\n".join(self.labels), encoding="utf-8")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class FusedFile(apsw.VFSFile):
    def __init__(self, fuse: Fuse, name: "str | apsw.URIFilename", flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._fuse = fuse

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 (SQLite's name)
        mine = self._fuse.reach("write")
        if mine and self._fuse.how == "inside":
            super().xWrite(data[: len(data) // 2], offset)
            die()
        super().xWrite(data, offset)
        self._fuse.leave(mine)

    def xSync(self, flags: int) -> None:  # noqa: N802 (SQLite's name)
        mine = self._fuse.reach("flush")
        super().xSync(flags)
        self._fuse.leave(mine)

    def xTruncate(self, size: int) -> None:  # noqa: N802 (SQLite's name)
        mine = self._fuse.reach("truncate")
        super().xTruncate(size)
        self._fuse.leave(mine)


class FusedVFS(apsw.VFS):
    """The operating system's files, with a fuse in front."""

    def __init__(self, fuse: Fuse) -> None:
        super().__init__(VFS, "")
        self._fuse = fuse

    def xOpen(  # noqa: N802 (SQLite's name)
        self, name: "str | apsw.URIFilename | None", flags: list[int]
    ) -> apsw.VFSFile:
        if name is None:
            return super().xOpen(name, flags)
        return FusedFile(self._fuse, name, flags)
