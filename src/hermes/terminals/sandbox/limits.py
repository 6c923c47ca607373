"""Resource limits of a sandboxed command, with cgroups that bind root too.

`ulimit` binds each process separately, and does not limit root's number of processes; a cgroup
binds the command as a whole, whatever its user. If there are no cgroups, `probe` says so.
"""

import contextlib
import os
import re
import threading
import time
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.ports.sandbox import Guard

CGROUPS: Final = Path("/sys/fs/cgroup")
OURS = "hermes"
LIMITS = ("pids.max", "memory.max", "memory.swap.max", "memory.limit_in_bytes")
UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
YOUNG_S = 60.0  # an empty group may belong to a command that is just starting
BLOCK, KIBI = 1024, 1024  # block size of bash; a shell with smaller blocks allows less


class Caps(Struct, frozen=True, kw_only=True):
    processes: int = 128
    memory_bytes: int = 2 * 1024**3
    cpu_s: int = 2 * 3600  # of one process
    file_bytes: int = 2 * 1024**3  # one file
    scratch_bytes: int = 512 * 1024**2  # /tmp and the like, kept in memory
    files: int = 1024  # open at once
    disk_bytes: int = 10 * 1024**3  # how much one command may add to the workspace


def limit_words(caps: Caps, *, own_users: bool, boxed: bool = True) -> str:
    """Return the `ulimit` code for a shell inside. `own_users`: the box counts its own processes;
    otherwise the limit would count all processes of this user, so it is not set. A box has no core
    dumps in any case, see enter.py."""
    words = [
        *([] if boxed else ["ulimit -c 0"]),
        f"ulimit -n {caps.files}",
        f"ulimit -t {caps.cpu_s}",
        f"ulimit -d {caps.memory_bytes // KIBI}",
        f"ulimit -f {caps.file_bytes // BLOCK}",
    ]
    if own_users:
        words.append(f"{{ ulimit -u {caps.processes} 2>/dev/null || ulimit -p {caps.processes}; }}")
    return "; ".join(words)


def limits_guard(caps: Caps) -> Guard:
    giga, mega, hour = 1024**3, 1024**2, 3600
    each = (
        f"{caps.processes} processes",
        f"{caps.memory_bytes / giga:g} GB of memory",
        f"{caps.cpu_s / hour:g} h of processor time",
        f"files up to {caps.file_bytes / giga:g} GB",
        f"{caps.disk_bytes / giga:g} GB more in the workspace",
        f"{caps.scratch_bytes / mega:g} MB of scratch space",
        f"{caps.files:,} open files",
    )
    return Guard(name="limits of a command", active=True, by=", ".join(each))


class Cgroups:
    """Create a cgroup for each command, below our own group, in each hierarchy."""

    def __init__(self, parents: tuple[Path, ...], caps: Caps, young_s: float = YOUNG_S) -> None:
        self.parents = parents
        self._caps = caps
        self._young_s = young_s
        self._made: deque[tuple[float, Path]] | None = None  # groups with their times, oldest first
        self._sweeping = threading.Lock()

    def join(self, call: str) -> tuple[str, ...]:
        """Return the file of each group for this command: a process joins by writing 0 to it.
        Remove the groups of ended commands."""
        name = UNSAFE.sub("-", call)[:128]
        groups = [parent / name for parent in self.parents]
        with self._sweeping:
            made = self._swept()
            for group in groups:
                group.mkdir(exist_ok=True)
                made.append((time.time(), group))
        for group in groups:
            try:
                self._limit(group)
            except OSError:  # another process swept it before anything had joined
                group.mkdir(exist_ok=True)
                self._limit(group)
        return tuple(f"{group}/{_entrance(group.parent)}" for group in groups)

    def _swept(self) -> "deque[tuple[float, Path]]":
        """Remove old, empty groups. Groups of other processes are listed only once: listing them
        for every command would cost more than the command."""
        if self._made is None:
            self._made = deque(sorted(_found(self.parents)))
        now = time.time()
        for _ in range(len(self._made)):
            if self._made[0][0] >= now - self._young_s:
                break
            _, group = self._made.popleft()
            if not _removed(group):
                self._made.append((now, group))
        return self._made

    def _limit(self, group: Path) -> None:
        numbers = {
            "pids.max": self._caps.processes,
            "memory.max": self._caps.memory_bytes,
            "memory.swap.max": 0,
            "memory.limit_in_bytes": self._caps.memory_bytes,
        }
        for name in _limits_in(group.parent):
            _put(group / name, numbers[name])


@cache
def _limits_in(parent: Path) -> tuple[str, ...]:
    """Return the limits that the kernel supports in this group."""
    return tuple(name for name in LIMITS if (parent / name).exists())


@cache
def _entrance(parent: Path) -> str:
    """Return the file by which a single thread joins, if it exists: to move a whole process the
    kernel waits for every processor, which takes longer than a small command. The joining process
    has one thread."""
    return "tasks" if (parent / "tasks").exists() else "cgroup.procs"


def _found(parents: tuple[Path, ...]) -> Iterator[tuple[float, Path]]:
    for parent in parents:
        for group in parent.iterdir():
            with contextlib.suppress(OSError):
                if group.is_dir():
                    yield group.stat().st_ctime, group


def _removed(group: Path) -> bool:
    """Remove a group. Return False if it is in use: the kernel keeps it."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def find_cgroups(caps: Caps, root: Path = CGROUPS) -> Cgroups:
    """Return our cgroups, created if this process may; otherwise none."""
    if (root / "cgroup.controllers").exists():
        wanted = [root / OURS]
    else:
        wanted = [root / kind / OURS for kind in ("pids", "memory")]
    return Cgroups(tuple(group for group in wanted if _usable(group)), caps)


def _usable(group: Path) -> bool:
    if not os.access(group.parent, os.W_OK):
        return False
    try:
        group.mkdir(exist_ok=True)
        if (group / "cgroup.subtree_control").exists():
            (group / "cgroup.subtree_control").write_text("+pids +memory", encoding="ascii")
        trial = group / "trial"
        trial.mkdir(exist_ok=True)
        found = any((trial / name).exists() for name in ("pids.max", "memory.limit_in_bytes"))
        trial.rmdir()
    except OSError:
        return False
    return found


def _put(file: Path, number: int) -> None:
    """Write the limit if the kernel supports it."""
    try:
        limit = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.write(limit, str(number).encode("ascii"))
    finally:
        os.close(limit)
