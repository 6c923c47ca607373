"""What is known about commands here: their folders and processes, looked at and acted upon at once.

Nothing in this file waits or starts a process; `local.py` does.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from hermes.core.errors import RecordMissing, ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.scratch import is_scratch
from hermes.ports.terminal import CommandRunning, Ended, Lost, Sighting, State
from hermes.terminals.alive import Processes
from hermes.terminals.records import (
    CROWDED_TIMES,
    OF_SCRIPT,
    Begun,
    CallFolder,
    Meta,
    folders,
    state_of,
    swept,
)
from hermes.terminals.scratch import sweep_scratch


class CommandLimits(Struct, frozen=True, kw_only=True):
    """How much a command gets of everything, and what becomes of its remains. `clean` takes secrets
    out of the output of a command that is over, before anybody reads it."""

    output_bytes: int = 50 * 1024 * 1024
    stdin_bytes: int = 65_536  # what a pipe holds
    grace_s: float = 2.0  # between asking it to end and ending it
    drain_s: float = 0.5  # for output that is still in the pipe when the command has ended
    keep_s: float = 7 * 86_400.0
    keep_bytes: int = 2 * 1024**3
    clean: Callable[[Path], None] = lambda _output: None
    crowded_output_bytes: int = 1024 * 1024  # in place of output_bytes, while too much is kept
    scratch: Path | None = None  # where the scratch places of conversations are


SWEEP_EVERY = 32  # launches
CLEAN = "clean"  # the file that says: no secret is left in the output


class Met(Struct, frozen=True):
    """What somebody who waits for a command has to know."""

    seen: Sighting
    meta: Meta
    wrapper: int | None  # its pid, while it lives
    whole: bool  # no output will come any more


class CallRegister:
    """The calls of one home. `keeps`: is a folder of one command there for the next one?"""

    def __init__(
        self,
        calls: Path,
        processes: Processes,
        limits: CommandLimits,
        keeps: Callable[[str, str], bool],
    ) -> None:
        self.boot = processes.boot()
        self._calls = calls
        self._processes = processes
        self._limits = limits
        self._keeps = keeps
        self._launches = 0
        self._kept = 0  # bytes, when they were last counted

    def folder(self, call: CallId) -> CallFolder:
        return CallFolder(self._calls, call)

    def state(self, folder: CallFolder, meta: Meta) -> State:
        return state_of(folder, meta, self._processes, self.boot)

    def look(self, folder: CallFolder) -> Sighting | None:
        meta = folder.meta()
        return None if meta is None else self._seen(folder, meta)

    def _seen(self, folder: CallFolder, meta: Meta) -> Sighting:
        state = self.state(folder, meta)
        if isinstance(state, Ended | Lost):
            self._clean_once(folder)
        size, began = folder.size(), folder.began_at()
        where = meta.launch.workspace
        workdir = folder.workdir() if isinstance(state, Ended) else ""
        lasts = bool(meta.launch.scratch) and is_scratch(workdir)
        over = folder.ended_at() if isinstance(state, Ended | Lost) else time.time()
        return Sighting(
            launch=meta.launch,
            state=state,
            output=str(folder.output),
            size=size,
            full=size >= self._limits.output_bytes,
            took_s=max(0.0, over - began) if began and over else 0.0,
            workdir=workdir if workdir and (lasts or self._keeps(workdir, where)) else "",
        )

    def _clean_once(self, folder: CallFolder) -> None:
        """When no more output can come. A full disk leaves it as it is until the next look. It adds
        no fact: how long the folder is kept counts from the last one."""
        mark = folder.path / CLEAN
        if mark.exists() or not folder.output.exists():
            return
        if folder.drained() or not self.groups(folder):
            with contextlib.suppress(OSError):
                about = folder.path.stat()
                self._limits.clean(folder.output)
                mark.touch(0o600)
                os.utime(folder.path, ns=(about.st_atime_ns, about.st_mtime_ns))

    def sight(self, folder: CallFolder) -> Sighting:
        seen = self.look(folder)
        if seen is None:
            raise RecordMissing(f"There is no command {folder.path.name}.")
        return seen

    def meet(self, folder: CallFolder) -> Met:
        meta = folder.meta()
        if meta is None:
            raise RecordMissing(f"There is no command {folder.path.name}.")
        whole = folder.drained()  # asked first: then what is seen has all of the output
        seen = self._seen(folder, meta)
        runs = isinstance(seen.state, CommandRunning)
        return Met(seen, meta, self._wrapper(folder) if runs else None, whole)

    def _wrapper(self, folder: CallFolder) -> int | None:
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

    def _is_over(self, folder: CallFolder) -> bool:
        if folder.path.name.endswith(OF_SCRIPT):  # it belongs to the command of that name
            folder = self.folder(CallId(folder.path.name.removesuffix(OF_SCRIPT)))
        meta = folder.meta()
        return meta is None or not isinstance(self.state(folder, meta), CommandRunning)

    def write(self, folder: CallFolder, text: bytes) -> int:
        seen = self.sight(folder)
        if not seen.launch.background:
            raise ToolFailed("Only a background command can be written to.")
        if not isinstance(seen.state, CommandRunning):
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

    def signal(self, folder: CallFolder, number: signal.Signals) -> None:
        for group in self.groups(folder):
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                continue

    def lives(self, folder: CallFolder) -> bool:
        """Anything of the command, or, for a moment, a wrapper that has not said who it is."""
        return bool(self.groups(folder)) or not self._is_over(folder)

    def groups(self, folder: CallFolder) -> set[int]:
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
        gone = swept(self._calls, self._is_over, keep_s=limits.keep_s, keep_bytes=limits.keep_bytes)
        for folder in folders(self._calls):
            if not (folder.path / CLEAN).exists() and self._is_over(folder):
                self._clean_once(folder)
        self._kept = sum(folder.size() for folder in folders(self._calls))
        return gone + (self._sweep_scratch(limits.scratch) if limits.scratch is not None else 0)

    def make_room(self) -> None:
        """Sweep now and then, so that a gateway that runs for months keeps no more than it may."""
        self._launches += 1
        if self._launches % SWEEP_EVERY == 0:
            self.sweep()

    def _sweep_scratch(self, base: Path) -> int:
        running = [folder.meta() for folder in folders(self._calls) if not self._is_over(folder)]
        return sweep_scratch(base, {meta.launch.scratch for meta in running if meta is not None})

    def output_bytes(self) -> int:
        """How much a command may print: little while what is kept is too much."""
        limits = self._limits
        crowded = self._kept > CROWDED_TIMES * limits.keep_bytes
        return limits.crowded_output_bytes if crowded else limits.output_bytes
