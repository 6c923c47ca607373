"""Who runs the gateway of a home: the lock is the truth, the note in it says who holds it.

A gateway leaves its note behind when it dies, so a note counts only while the lock is held, and
only when its process is the one that holds it.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from hermes.core.errors import StoreBusy

LOCK = "gateway.lock"
NOTE_BYTES_MAX = 65_536
NOTE_WAIT_S, NOTE_LOOK_S = 1.0, 0.02
PROC = Path("/proc")


class Running(Struct, frozen=True, kw_only=True):
    pid: int
    started_at: float


class _Note(Struct, frozen=True):
    pid: Annotated[int, Meta(gt=0)]
    started_at: float


def running(home: Path) -> Running | None:
    """Raises StoreBusy when the lock is held and nobody of this machine can be named."""
    deadline = time.monotonic() + NOTE_WAIT_S
    while held(home):
        noted = note(home)
        if noted is not None and _holds(home / LOCK, noted.pid):
            return noted
        if time.monotonic() > deadline:
            file = home / LOCK
            raise StoreBusy(f"{file} is held, but not by whom it names. See who: fuser -v {file}")
        time.sleep(NOTE_LOOK_S)  # it was taken just now; the note follows
    return None


def held(home: Path) -> bool:
    """Is it taken? Looks by a shared lock, for an instant: lookers do not see one another."""
    try:
        handle = os.open(home / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def note(home: Path) -> Running | None:
    """What the last holder wrote about itself; None when that is missing or half written."""
    try:
        with (home / LOCK).open("rb") as file:
            return parse_note(file.read(NOTE_BYTES_MAX))
    except (FileNotFoundError, NotADirectoryError):
        return None


def parse_note(content: bytes) -> Running | None:
    try:
        noted = msgspec.json.decode(content, type=_Note)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return Running(pid=noted.pid, started_at=noted.started_at)


def alive(pid: int) -> bool:
    """A corpse that nobody has buried yet is not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        about = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return about.rpartition(")")[2].split()[:1] not in (["Z"], ["X"])


def owners(locks: str, inode: int) -> set[int]:
    """The processes that hold a file exclusively, as /proc/locks tells; 0 is one we cannot see."""
    found = set()
    for line in locks.splitlines():
        fields = line.split()  # 1: FLOCK ADVISORY WRITE 42 fd:01:1234 0 EOF; "->" only waits
        if len(fields) < 8 or "->" in fields or fields[3] != "WRITE":
            continue
        # The device is not compared: some file systems name another one there than stat does.
        if fields[5].rpartition(":")[2] == str(inode):
            with suppress(ValueError):
                found.add(int(fields[4]))
    return found


def _holds(file: Path, pid: int) -> bool:
    """Where the system tells who holds a lock, that decides; elsewhere, that the process lives."""
    try:
        known = owners((PROC / "locks").read_text(encoding="ascii"), file.stat().st_ino) - {0, -1}
    except (OSError, UnicodeDecodeError):
        known = set()
    return pid in known if known else alive(pid)
