"""How much a boxed command gets of everything, and the control groups that hold root to it too.

`ulimit` binds each process by itself, and not root in the number of processes; a control group
binds the command as a whole, whoever it runs as. Where there is none, `probe` says so.
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

from hermes.views.sandbox import Guard

CGROUPS: Final = Path("/sys/fs/cgroup")
OURS = "hermes"
LIMITS = ("pids.max", "memory.max", "memory.swap.max", "memory.limit_in_bytes")
UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
YOUNG_S = 60.0  # an empty group may belong to a command that is just being launched
BLOCK, KIBI = 1024, 1024  # of bash; where a shell counts in halves, less is allowed


class Caps(Struct, frozen=True, kw_only=True):
    processes: int = 128
    memory_bytes: int = 2 * 1024**3
    cpu_s: int = 2 * 3600  # of one process
    file_bytes: int = 2 * 1024**3  # one file
    scratch_bytes: int = 512 * 1024**2  # /tmp and the like, kept in memory
    files: int = 1024  # open at once


def limit_words(caps: Caps, *, own_users: bool) -> str:
    """For a shell inside. `own_users`: the box counts its processes for itself; elsewhere the
    number would be that of all processes of this person, so it is not set."""
    words = [
        "ulimit -c 0",
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
        f"{caps.scratch_bytes / mega:g} MB of scratch space",
        f"{caps.files:,} open files",
    )
    return Guard(name="limits of a command", active=True, by=", ".join(each))


class Cgroups:
    """One group for each command below one of ours, in each hierarchy that there is."""

    def __init__(self, parents: tuple[Path, ...], caps: Caps, young_s: float = YOUNG_S) -> None:
        self.parents = parents
        self._caps = caps
        self._young_s = young_s
        self._made: deque[tuple[float, Path]] | None = None  # and when, the oldest first
        self._sweeping = threading.Lock()

    def join(self, call: str) -> tuple[str, ...]:
        """For this command, a file of each group: a process that writes 0 there is in it. Groups of
        commands that are over are removed."""
        name = UNSAFE.sub("-", call)[:128]
        groups = [parent / name for parent in self.parents]
        with self._sweeping:
            made = self._swept()
            for group in groups:
                group.mkdir(exist_ok=True)
                made.append((time.time(), group))
        for group in groups:
            self._limit(group)
        return tuple(f"{group}/{_entrance(group.parent)}" for group in groups)

    def _swept(self) -> "deque[tuple[float, Path]]":
        """Those that are left by other processes are looked for once: a look at every group in
        front of every command would cost more than the command."""
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
    """Those that the kernel knows there; a group has no others than the one that it is in."""
    return tuple(name for name in LIMITS if (parent / name).exists())


@cache
def _entrance(parent: Path) -> str:
    """Where one thread joins by itself, if there is such a file: for a whole process the kernel
    first waits until every processor has noticed, which takes longer than a small command. Who
    joins has one thread."""
    return "tasks" if (parent / "tasks").exists() else "cgroup.procs"


def _found(parents: tuple[Path, ...]) -> Iterator[tuple[float, Path]]:
    for parent in parents:
        for group in parent.iterdir():
            with contextlib.suppress(OSError):
                if group.is_dir():
                    yield group.stat().st_ctime, group


def _removed(group: Path) -> bool:
    """False for one that is in use: the kernel keeps it."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def find_cgroups(caps: Caps, root: Path = CGROUPS) -> Cgroups:
    """Ours, made where this process may; otherwise none."""
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
    """Where the kernel knows that limit."""
    try:
        limit = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.write(limit, str(number).encode("ascii"))
    finally:
        os.close(limit)
