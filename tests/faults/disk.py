"""A disk that fails on demand, below SQLite: full, or broken, at any write."""

from dataclasses import dataclass, field
from typing import Literal

import apsw

Kind = Literal["full", "broken"]
_ERRORS: dict[Kind, type[apsw.Error]] = {"full": apsw.FullError, "broken": apsw.IOError}


@dataclass
class Disk:
    """Fails at the n-th touch, and at all later ones when `lasting`. 0: never, it only counts."""

    at: int = 0
    kind: Kind = "full"
    lasting: bool = False
    touches: int = 0
    failed: list[str] = field(default_factory=list)

    def touch(self, what: str) -> None:
        self.touches += 1
        hit = self.touches == self.at or (self.lasting and 0 < self.at <= self.touches)
        if hit:
            self.failed.append(what)
            raise _ERRORS[self.kind](f"{self.kind} at {what} {self.touches}")


class BadFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: "str | apsw.URIFilename", flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._disk = disk

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 (SQLite's name)
        self._disk.touch("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 (SQLite's name)
        self._disk.touch("flush")
        super().xSync(flags)


class BadVFS(apsw.VFS):
    def __init__(self, disk: Disk, name: str) -> None:
        super().__init__(name, "")
        self._disk = disk

    def xOpen(  # noqa: N802 (SQLite's name)
        self, name: "str | apsw.URIFilename | None", flags: list[int]
    ) -> apsw.VFSFile:
        if name is None:
            return super().xOpen(name, flags)
        return BadFile(self._disk, name, flags)
