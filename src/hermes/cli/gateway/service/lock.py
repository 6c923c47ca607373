"""Find out who runs the gateway of a home: the lock decides, the note in it names the holder.

A gateway leaves its note behind when it dies, so a note counts only while the lock is held, and
only when its process is the one that holds it.
"""

import fcntl
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from hermes.core.errors import StoreBusy

LOCK = "gateway.lock"
NOTE_BYTES_MAX = 65_536
NOTE_WAIT_S, NOTE_LOOK_S, TORN_READ_S = 1.0, 0.02, 0.2
PROC = Path("/proc")


class RunningGateway(Struct, frozen=True, kw_only=True):
    pid: int
    started_at: float


class RestartCheck(Struct, frozen=True):
    """The result of the last restart request: when its check began, by the machine's monotonic
    clock, and why it was refused; empty when it was not."""

    at: float
    problem: str = ""


class _Note(Struct, frozen=True):
    pid: Annotated[int, Meta(gt=0)]
    started_at: float
    listens: tuple[tuple[str, int], ...] = ()
    checked: RestartCheck | None = None


class LockNote:
    """The note in a lock that this process holds."""

    def __init__(self, handle: int, **facts: object) -> None:
        self._handle = handle
        self._facts: dict[str, object] = {}
        self.add(**facts)

    def add(self, **facts: object) -> None:
        self._facts |= facts
        write_note(self._handle, self._facts)


def running(home: Path) -> RunningGateway | None:
    """Return the running gateway. Raise StoreBusy when the lock is held by an unknown process."""
    deadline = time.monotonic() + NOTE_WAIT_S
    while held(home):
        noted = note(home)
        if noted is not None and _holds(home / LOCK, noted.pid):
            return noted
        if time.monotonic() > deadline:
            file = home / LOCK
            raise StoreBusy(
                f"{file} is locked, but not by the process it names. Find it with: fuser -v {file}"
            )
        time.sleep(NOTE_LOOK_S)  # it was taken just now; the note follows
    return None


def held(home: Path) -> bool:
    """Return True if the lock is held. It tries a shared lock for an instant, so that several
    checks do not disturb each other."""
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


def note(home: Path) -> RunningGateway | None:
    """Return what the last holder wrote about itself; None when that is missing or foreign."""
    noted = _read_note(home)
    return RunningGateway(pid=noted.pid, started_at=noted.started_at) if noted is not None else None


def listens(home: Path) -> tuple[tuple[str, int], ...]:
    """Return the hosts and ports of the gateway that runs here."""
    noted = _read_note(home) if held(home) else None
    return noted.listens if noted is not None else ()


def restart_check(home: Path, since: float) -> RestartCheck | None:
    """Return the result of a restart that was requested at `since` (time.monotonic)."""
    noted = _read_note(home)
    checked = noted.checked if noted is not None else None
    return checked if checked is not None and checked.at >= since else None


def _read_note(home: Path) -> _Note | None:
    """Read the note, again while it is malformed, because a reader may see half of a write. A
    malformed file that stays the same for a while holds no note."""
    content = _content(home)
    deadline = time.monotonic() + TORN_READ_S
    while (noted := _parse(content)) is None and content and time.monotonic() < deadline:
        time.sleep(NOTE_LOOK_S)
        if (again := _content(home)) != content:
            content, deadline = again, time.monotonic() + TORN_READ_S
    return noted


def _content(home: Path) -> bytes:
    try:
        with (home / LOCK).open("rb") as file:
            return file.read(NOTE_BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def write_note(handle: int, content: Mapping[str, object]) -> None:
    """Write who holds the lock, in one write over the old line. Truncating first would leave an
    instant in which readers see no holder."""
    line = msgspec.json.encode(content)
    size = os.fstat(handle).st_size
    if size > NOTE_BYTES_MAX:  # none of ours
        os.ftruncate(handle, NOTE_BYTES_MAX)
    os.pwrite(handle, line.ljust(min(size, NOTE_BYTES_MAX) - 1) + b"\n", 0)


def parse_note(content: bytes) -> RunningGateway | None:
    noted = _parse(content)
    return RunningGateway(pid=noted.pid, started_at=noted.started_at) if noted is not None else None


def _parse(content: bytes) -> _Note | None:
    try:
        return msgspec.json.decode(content, type=_Note)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def alive(pid: int) -> bool:
    """Return True if the process runs; a zombie does not."""
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
    """Return the processes that hold a file exclusively, from /proc/locks; 0 is one outside of our
    view."""
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
    """Return True if the process holds the lock; where the system does not tell, if the process
    runs."""
    try:
        known = owners((PROC / "locks").read_text(encoding="ascii"), file.stat().st_ino) - {0, -1}
    except (OSError, UnicodeDecodeError):
        known = set()
    return pid in known if known else alive(pid)
