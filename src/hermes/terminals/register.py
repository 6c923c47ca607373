"""What is known about commands here: their folders and processes, looked at and acted upon at once.

Nothing in this file waits or starts a process; `local.py` does.
"""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.terminals.alive import Processes
from hermes.terminals.records import Begun, Folder, Meta, folders, state_of, swept
from hermes.views.terminal import Ended, Lost, Running, Sighting, State


class Limits(Struct, frozen=True, kw_only=True):
    """How much a command gets of everything, and how long its remains are kept."""

    output_bytes: int = 50 * 1024 * 1024
    stdin_bytes: int = 65_536  # what a pipe holds
    grace_s: float = 2.0  # between asking it to end and ending it
    drain_s: float = 0.5  # for output that is still in the pipe when the command has ended
    keep_s: float = 7 * 86_400.0
    keep_bytes: int = 2 * 1024**3


class Met(Struct, frozen=True):
    """What somebody who waits for a command has to know."""

    seen: Sighting
    meta: Meta
    wrapper: int | None  # its pid, while it lives
    whole: bool  # no output will come any more


class Register:
    """The calls of one home. `keeps`: is a folder of one command there for the next one?"""

    def __init__(
        self, calls: Path, processes: Processes, limits: Limits, keeps: Callable[[str, str], bool]
    ) -> None:
        self.boot = processes.boot()
        self._calls = calls
        self._processes = processes
        self._limits = limits
        self._keeps = keeps

    def folder(self, call: CallId) -> Folder:
        return Folder(self._calls, call)

    def state(self, folder: Folder, meta: Meta) -> State:
        return state_of(folder, meta, self._processes, self.boot)

    def look(self, folder: Folder) -> Sighting | None:
        meta = folder.meta()
        return None if meta is None else self._seen(folder, meta)

    def _seen(self, folder: Folder, meta: Meta) -> Sighting:
        state, size = self.state(folder, meta), folder.size()
        began = folder.began_at()
        where = meta.launch.workspace
        workdir = folder.workdir() if isinstance(state, Ended) else ""
        over = folder.ended_at() if isinstance(state, Ended | Lost) else time.time()
        return Sighting(
            launch=meta.launch,
            state=state,
            output=str(folder.output),
            size=size,
            full=size >= self._limits.output_bytes,
            took_s=max(0.0, over - began) if began and over else 0.0,
            workdir=workdir if workdir and self._keeps(workdir, where) else "",
        )

    def sight(self, folder: Folder) -> Sighting:
        seen = self.look(folder)
        if seen is None:
            raise ToolFailed(f"There is no command {folder.path.name}.")
        return seen

    def meet(self, folder: Folder) -> Met:
        meta = folder.meta()
        if meta is None:
            raise ToolFailed(f"There is no command {folder.path.name}.")
        whole = folder.drained()  # asked first: then what is seen has all of the output
        seen = self._seen(folder, meta)
        runs = isinstance(seen.state, Running)
        return Met(seen, meta, self._wrapper(folder) if runs else None, whole)

    def _wrapper(self, folder: Folder) -> int | None:
        gate = folder.gate()
        lives = isinstance(gate, Begun) and self._processes.start(gate.pid)
        return gate.pid if isinstance(gate, Begun) and lives else None

    def listed(self, session: SessionKey) -> tuple[Sighting, ...]:
        found = []
        for folder in folders(self._calls):
            meta = folder.meta()
            if meta and meta.launch.background and meta.launch.session == session:
                found.append(self.sight(folder))
        return tuple(found)

    def strays(self) -> tuple[CallId, ...]:
        """Commands that somebody should be waiting for: alive, and not in the background."""
        found = []
        for folder in folders(self._calls):
            meta = folder.meta()
            if meta and not meta.launch.background and not self._is_over(folder):
                found.append(CallId(folder.path.name))
        return tuple(found)

    def _is_over(self, folder: Folder) -> bool:
        meta = folder.meta()
        return meta is None or not isinstance(self.state(folder, meta), Running)

    def write(self, folder: Folder, text: bytes) -> int:
        seen = self.sight(folder)
        if not seen.launch.background:
            raise ToolFailed("Only a background command can be written to.")
        if not isinstance(seen.state, Running):
            raise ToolFailed("The command is not running; nothing was written.")
        if len(text) > self._limits.stdin_bytes:
            raise ToolFailed(f"At most {self._limits.stdin_bytes:,} bytes can be written at once.")
        try:
            pipe = os.open(folder.stdin, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as closed:
            raise ToolFailed("The command no longer reads its input.") from closed
        try:
            return os.write(pipe, text)
        except BlockingIOError:
            return 0
        finally:
            os.close(pipe)

    def signal(self, folder: Folder, number: signal.Signals) -> None:
        for group in self.groups(folder):
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                continue

    def lives(self, folder: Folder) -> bool:
        """Anything of the command, or, for a moment, a wrapper that has not said who it is."""
        return bool(self.groups(folder)) or not self._is_over(folder)

    def groups(self, folder: Folder) -> set[int]:
        """What lives of the command; nothing when its pid means somebody else by now."""
        gate = folder.gate()
        if not isinstance(gate, Begun):
            return set()
        start = self._processes.start(gate.pid)
        if start and start != self._processes.start_in(gate.noted):
            return set()
        return self._processes.groups(gate.pid)

    def sweep(self) -> int:
        """Remove what is old, then the oldest while too much is kept; returns how many."""
        limits = self._limits
        return swept(self._calls, self._is_over, keep_s=limits.keep_s, keep_bytes=limits.keep_bytes)
