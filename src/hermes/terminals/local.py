"""Commands on this machine, each in a session of its own, kept in calls/<call id>/ (C24).

With a sandbox each of them is in a box; without one, as the owner chose, it sees the machine.
"""

import asyncio
import shlex
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.sandbox import Box, BoxRequest, Profile, Sandbox
from hermes.ports.scratch import on_disk
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended, Lost, Pending, Sighting
from hermes.terminals.alive import processes
from hermes.terminals.ended import PidFds, exit_of, open_pidfd
from hermes.terminals.environment import BOX_PATH, child_environment
from hermes.terminals.orders import BEGUN, GONE, LATE, TAKEN, SpawnOrder
from hermes.terminals.records import CallFolder, Meta
from hermes.terminals.register import CallRegister, CommandLimits
from hermes.terminals.scratch import make_scratch
from hermes.terminals.spawn import Launcher, printed
from hermes.views.files import reason

POLL_S_MIN, POLL_S_MAX = 0.002, 0.2
YOUNG_S = 1.0  # a shell that is just being born may lose a signal: it is sent twice
KILLED_S_MAX = 10.0  # nothing outlives it, but a busy machine takes its time
SHELL_NAME = "bash"  # as it calls itself in its messages

# The guards of a box that holds whatever code runs in it.
WHOLE = (
    *("files", "names of hidden files", "files that run later", "processes of others"),
    *("leftovers end", "network", "system calls"),
)
DEFAULT_LIMITS = CommandLimits()


def shell_text(command: str, *, workdir_file: str, limits: str = "") -> str:
    """The command for `bash -c`, so that its last working directory is written down.

    `eval` keeps line numbers and error messages those of the command itself. A command that sets
    an EXIT trap of its own, or is killed, leaves no directory: the session's stays as it was.
    """
    note = f"pwd >{shlex.quote(workdir_file)}"
    first = f"{limits}; " if limits else ""
    return f"{first}trap {shlex.quote(note)} EXIT; eval {shlex.quote(command)}"


def wish_of(launch: CommandLaunch, note: str, usual: Profile) -> BoxRequest:
    """The box that a launch asks for."""
    return BoxRequest(
        profile=usual if launch.profile == "write" else launch.profile,
        call=launch.id,
        workdir=launch.workdir,
        workspace=launch.workspace,
        note=note,
        readable=launch.readable,
        covered=launch.covered,
        scratch=launch.scratch,
        pipes=launch.pipes,
    )


def _outside(launch: CommandLaunch) -> str:
    """The working directory as the wrapper sees it, which is in no box."""
    own = on_disk(launch.workdir, launch.scratch)
    return own if Path(own).is_dir() and not Path(launch.workdir).is_dir() else launch.workdir


class LocalTerminal:
    """See the Terminal port. Close it before its event loop ends; what runs goes on. `usual` is
    the profile of a command that asks for none but the ordinary one."""

    def __init__(
        self,
        calls: Path,
        *,
        environ: Mapping[str, str],
        sandbox: Sandbox | None = None,
        usual: Profile = "write",
        limits: CommandLimits = DEFAULT_LIMITS,
        launcher: Launcher | None = None,
        pidfds: PidFds = open_pidfd,
    ) -> None:
        self._environment = child_environment(environ)
        self._sandbox = sandbox
        self.usual: Profile = usual if sandbox is not None else "host"
        self._limits = limits
        keeps = sandbox.keeps if sandbox is not None else lambda _folder, _workspace: True
        self._register = CallRegister(calls.absolute(), processes(printed), limits, keeps)
        self._shell = self.which("bash") or self.which("sh") or "/bin/sh"
        self._launcher = launcher or Launcher()
        self._pidfds = pidfds
        self._starting: dict[CallId, asyncio.Future[Sighting]] = {}

    def is_whole(self) -> bool:
        if self._sandbox is None or self.usual != "write":
            return False
        found = {guard.name: guard.active for guard in self._sandbox.probe()}
        return all(found.get(name, False) for name in WHOLE)

    async def launch(self, launch: CommandLaunch) -> Sighting:
        """Returns when it has begun, so that only a crash leaves one that has not."""
        return await asyncio.shield(self._starts(launch))

    async def look(self, call: CallId) -> Sighting | None:
        return await asyncio.to_thread(self._register.look, self._register.folder(call))

    async def wait(self, call: CallId, timeout_s: float) -> Sighting:
        folder = self._register.folder(call)
        until, pause = time.monotonic() + timeout_s, POLL_S_MIN
        while True:
            met = await asyncio.to_thread(self._register.meet, folder)
            seen, meta = met.seen, met.meta
            match seen.state:
                case Lost():
                    return seen
                case Ended():
                    return seen if met.whole else await self._drained(folder)
                case Pending() | CommandRunning():
                    pass
            now = time.monotonic()
            deadline = until if meta.deadline is None else meta.deadline
            if (cut := folder.cut()) or (meta.deadline is not None and now >= deadline):
                return await self._ended_by_us(folder, "stopped" if cut == "stopped" else "timeout")
            if now >= until:
                return seen
            left = min(until, deadline) - now
            if met.wrapper is None or not await exit_of(met.wrapper, left, self._pidfds):
                await asyncio.sleep(min(left, pause))
                pause = min(pause * 2, POLL_S_MAX)

    async def read(self, call: CallId, offset: int, limit: int) -> bytes:
        return await asyncio.to_thread(self._register.folder(call).read, offset, limit)

    async def write(self, call: CallId, text: bytes) -> int:
        return await asyncio.to_thread(self._register.write, self._register.folder(call), text)

    async def stop(self, call: CallId, cut: Literal["timeout", "stopped"]) -> Sighting | None:
        folder = self._register.folder(call)
        while (starting := self._starting.get(call)) and folder.meta() is None:
            await asyncio.wait([starting], timeout=POLL_S_MIN)  # a cancelled launch goes on
        seen = await self.look(call)
        if seen is None or not isinstance(seen.state, Pending | CommandRunning):
            return seen
        return await self._ended_by_us(folder, cut)

    async def listed(self, session: SessionKey) -> tuple[Sighting, ...]:
        return await asyncio.to_thread(self._register.listed, session)

    async def forget(self, call: CallId) -> None:
        seen = await self.look(call)
        if seen is not None and isinstance(seen.state, CommandRunning):
            raise ToolFailed("The command is still running.")
        await asyncio.to_thread(self._register.folder(call).remove)

    def launched(self, call: CallId) -> CommandLaunch | None:
        try:
            meta = self._register.folder(call).meta()
        except ToolFailed:  # it is not even an id
            return None
        return meta.launch if meta is not None else None

    def which(self, program: str) -> str:
        path = BOX_PATH if self.usual != "host" else self._environment["PATH"]
        return shutil.which(program, path=path) or ""

    async def strays(self) -> tuple[CallId, ...]:
        """Commands of calls that run here now, of whichever process they were."""
        return await asyncio.to_thread(self._register.strays)

    async def sweep(self) -> int:
        """Remove what is old, then the oldest while too much is kept; returns how many."""
        return await asyncio.to_thread(self._register.sweep)

    async def close(self) -> None:
        self._launcher.close()

    # ── starting ────────────────────────────────────────────────────────────────────────────────

    def _starts(self, launch: CommandLaunch) -> asyncio.Future[Sighting]:
        loop = asyncio.get_running_loop()
        starting = loop.run_in_executor(None, self._begin, launch)
        self._starting[launch.id] = starting

        def forget(started: asyncio.Future[Sighting]) -> None:
            started.exception()  # the launch raises it, unless it was cancelled
            if self._starting.get(launch.id) is started:
                del self._starting[launch.id]

        starting.add_done_callback(forget)
        return starting

    def _begin(self, launch: CommandLaunch) -> Sighting:
        """Only the wrapper that takes the gate runs the command, so one too many does no harm."""
        folder = self._register.folder(launch.id)
        meta = folder.meta()
        if meta is not None and not isinstance(self._register.state(folder, meta), Pending):
            return self._register.sight(folder)
        timeout = launch.timeout_s
        deadline = None if timeout is None else time.monotonic() + timeout
        boot = self._register.boot
        self._register.make_room()
        if launch.scratch:
            make_scratch(launch.scratch)
        try:
            folder.prepare(Meta(launch=launch, boot=boot, at=time.time(), deadline=deadline))
        except OSError as refused:
            problem = f"The command could not be started: {reason(refused)}."
            raise ToolFailed(problem) from refused
        try:
            said = self._launcher.begin(self._order(launch, folder, deadline))
        except ToolFailed:
            folder.bar("unstarted")
            raise
        if said not in (BEGUN, TAKEN, LATE):
            folder.bar("unstarted")
            if said != GONE:
                why = said.decode("utf-8", "replace")
                raise ToolFailed(f"The command could not be started: {why}.")
        return self._register.sight(folder)

    def _order(
        self, launch: CommandLaunch, folder: CallFolder, deadline: float | None
    ) -> SpawnOrder:
        box, note = Box(environment=self._environment), str(folder.workdir_file)
        if self._sandbox is not None:
            box = self._sandbox.box(wish_of(launch, note, self.usual))
        text = shell_text(launch.command, workdir_file=note, limits=box.limits)
        return SpawnOrder(
            folder=str(folder.path),
            workdir=_outside(launch),
            output_bytes=self._register.output_bytes(),
            groups=box.groups,
            environment=box.environment,
            arguments=(*box.arguments, self._shell, "-c", text, SHELL_NAME),
            stdin=launch.background,
            deadline=deadline,
            workspace=box.workspace,
            disk_bytes=box.disk_bytes,
            scratch=box.scratch,
            scratch_bytes=box.scratch_bytes,
        )

    # ── ending ──────────────────────────────────────────────────────────────────────────────────

    async def _drained(self, folder: CallFolder) -> Sighting:
        """A short while for the output to get through the pipe; a daemon may hold it for ever."""
        ended_at, pause = folder.ended_at(), POLL_S_MIN
        while not folder.drained() and 0 <= time.time() - ended_at <= self._limits.drain_s:
            await asyncio.sleep(pause)
            pause *= 2
        return await asyncio.to_thread(self._register.sight, folder)

    async def _ended_by_us(
        self, folder: CallFolder, cut: Literal["timeout", "stopped"]
    ) -> Sighting:
        """The reason is noted before the first signal: whoever dies here, the next one ends it."""
        if not folder.bar("stopped" if cut == "stopped" else "unstarted"):
            await asyncio.to_thread(folder.note_cut, cut)
            grace_s = self._limits.grace_s
            steps = [(signal.SIGTERM, grace_s), (signal.SIGKILL, KILLED_S_MAX)]
            if abs(time.time() - folder.began_at()) < YOUNG_S:
                steps.insert(0, (signal.SIGTERM, YOUNG_S / 10))
            for number, patience_s in steps:
                await asyncio.to_thread(self._register.signal, folder, number)
                if await _dies(self._register, folder, patience_s):
                    break
        return await self._drained(folder)


async def _dies(register: CallRegister, folder: CallFolder, patience_s: float) -> bool:
    until, pause = time.monotonic() + patience_s, POLL_S_MIN
    while await asyncio.to_thread(register.lives, folder):
        if time.monotonic() >= until:
            return False
        await asyncio.sleep(pause)
        pause = min(pause * 2, POLL_S_MAX / 2)
    return True
