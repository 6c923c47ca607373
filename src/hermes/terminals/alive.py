"""Is that process still the one we mean? A pid is reused; pid, start time and boot together not."""

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

Ask = Callable[[Sequence[str]], str]  # run a small program to its end and return what it printed

PROC = Path("/proc")
LINE_BYTES = 4096
BOOT_ID = PROC / "sys/kernel/random/boot_id"


class Processes(Protocol):
    def boot(self) -> str:
        """A name for the time since the machine was started."""

    def start(self, pid: int) -> str:
        """When the process began; empty when there is none, or only its corpse."""

    def start_in(self, noted: str) -> str:
        """The same, out of the line that a wrapper noted about itself."""

    def groups(self, leader: int) -> set[int]:
        """The process groups, living ones, of the session that this pid founded."""


class Stat(Struct, frozen=True):
    """What /proc/<pid>/stat says, as far as we need it."""

    state: str
    group: int
    session: int
    start: str


def parse_stat(line: str) -> Stat | None:
    """The name of the program stands in parentheses and may contain anything, even these."""
    fields = line.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    return Stat(state=fields[0], group=int(fields[2]), session=int(fields[3]), start=fields[19])


class LinuxProcesses:
    def boot(self) -> str:
        return BOOT_ID.read_text(encoding="ascii").strip()

    def start(self, pid: int) -> str:
        stat = self._stat(pid)
        return stat.start if stat else ""

    def start_in(self, noted: str) -> str:
        stat = parse_stat(noted)
        return stat.start if stat else ""

    def groups(self, leader: int) -> set[int]:
        names = (entry.name for entry in PROC.iterdir())
        stats = (self._stat(int(name)) for name in names if name.isdigit())
        ours = (stat for stat in stats if stat and leader in (stat.group, stat.session))
        return {stat.group for stat in ours}

    def _stat(self, pid: int) -> Stat | None:
        try:
            file = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            line = os.read(file, LINE_BYTES)
        except ProcessLookupError:
            return None
        finally:
            os.close(file)
        stat = parse_stat(line.decode("utf-8", "replace"))
        return None if stat is None or stat.state in "ZX" else stat


class PsProcesses:
    """Where there is no /proc: `ps` knows the start to the second, which is enough with the pid."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def boot(self) -> str:
        return self._ask(["sysctl", "-n", "kern.bootsessionuuid"]).strip()

    def start(self, pid: int) -> str:
        state, _, start = self._ask(["ps", "-o", "state=,lstart=", "-p", str(pid)]).partition(" ")
        return "" if state.startswith("Z") else self.start_in(start)

    def start_in(self, noted: str) -> str:
        return " ".join(noted.split())

    def groups(self, leader: int) -> set[int]:
        rows = self._ask(["ps", "-A", "-o", "state=,pgid="]).splitlines()
        alive = {int(row.split()[1]) for row in rows if row.strip() and not row.startswith("Z")}
        return alive & {leader}


def processes(ask: Ask) -> Processes:
    """The way to ask that fits this machine."""
    return LinuxProcesses() if platform.system() == "Linux" else PsProcesses(ask)
