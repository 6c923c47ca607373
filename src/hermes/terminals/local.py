"""Commands on this machine, each in a session of its own, kept in calls/<call id>/ (C24).

With a sandbox each of them is in a box; without one, as the owner chose, it sees the machine.
"""

import asyncio
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.terminals.alive import processes
from hermes.terminals.environment import BOX_PATH, child_environment
from hermes.terminals.reaper import Reaper
from hermes.terminals.records import Folder, Meta
from hermes.terminals.register import Limits, Register
from hermes.terminals.spawn import detached, printed
from hermes.terminals.wrapper import WRAPPER, shell_text, wrapped
from hermes.views.sandbox import Box, Profile, Sandbox, Wish
from hermes.views.terminal import Ended, Launch, Lost, Pending, Running, Sighting

POLL_S_MIN, POLL_S_MAX = 0.002, 0.2
BEGIN_S_MAX = 10.0
YOUNG_S = 1.0  # a shell that is just being born may lose a signal: it is sent twice
SHELL_NAME = "bash"  # as it calls itself in its messages

DEFAULT_LIMITS = Limits()


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
        limits: Limits = DEFAULT_LIMITS,
        script: str = WRAPPER,
        reaper: Reaper | None = None,
    ) -> None:
        self._environment = child_environment(environ)
        self._sandbox = sandbox
        self._usual = usual
        self._limits = limits
        self._script = script
        keeps = sandbox.keeps if sandbox is not None else lambda _folder, _workspace: True
        self._register = Register(calls.absolute(), processes(printed), limits, keeps)
        self._shell = self.which("bash") or self.which("sh") or "/bin/sh"
        self._reaper = reaper or Reaper()
        self._starting: dict[CallId, asyncio.Future[None]] = {}

    async def launch(self, launch: Launch) -> Sighting:
        """Returns when it has begun, so that only a crash leaves one that has not."""
        folder, until = self._register.folder(launch.id), time.monotonic() + BEGIN_S_MAX
        await asyncio.shield(self._starts(launch))
        while folder.gate() is None and time.monotonic() < until:
            if self._reaper.child_of(launch.id) is None:
                folder.bar("unstarted")  # its wrapper is gone and had not begun
            await asyncio.sleep(POLL_S_MIN)
        return await asyncio.to_thread(self._register.sight, folder)

    async def look(self, call: CallId) -> Sighting | None:
        return await asyncio.to_thread(self._register.look, self._register.folder(call))

    async def wait(self, call: CallId, timeout_s: float) -> Sighting:
        folder = self._register.folder(call)
        until, pause = time.monotonic() + timeout_s, POLL_S_MIN
        while True:
            seen, meta, pid = await asyncio.to_thread(self._register.meet, folder)
            match seen.state:
                case Lost():
                    return seen
                case Ended():
                    return await self._drained(folder)
                case Pending() | Running():
                    pass
            now = time.monotonic()
            deadline = until if meta.deadline is None else meta.deadline
            if (cut := folder.cut()) or (meta.deadline is not None and now >= deadline):
                return await self._ended_by_us(folder, "stopped" if cut == "stopped" else "timeout")
            if now >= until:
                return seen
            left = min(until, deadline) - now
            if pid is None or not await self._reaper.exit_of(pid, left):
                await asyncio.sleep(min(left, pause))
                pause = min(pause * 2, POLL_S_MAX)

    async def read(self, call: CallId, offset: int, limit: int) -> bytes:
        return await asyncio.to_thread(self._register.folder(call).read, offset, limit)

    async def write(self, call: CallId, text: bytes) -> int:
        return await asyncio.to_thread(self._register.write, self._register.folder(call), text)

    async def stop(self, call: CallId, cut: Literal["timeout", "stopped"]) -> Sighting | None:
        folder = self._register.folder(call)
        if call in self._starting:  # its launch may have been cancelled, which does not end it
            await asyncio.wait([self._starting[call]])
        seen = await self.look(call)
        if seen is None or not isinstance(seen.state, Pending | Running):
            return seen
        return await self._ended_by_us(folder, cut)

    async def listed(self, session: SessionKey) -> tuple[Sighting, ...]:
        return await asyncio.to_thread(self._register.listed, session)

    async def forget(self, call: CallId) -> None:
        seen = await self.look(call)
        if seen is not None and isinstance(seen.state, Running):
            raise ToolFailed("The command is still running.")
        await asyncio.to_thread(self._register.folder(call).remove)

    def which(self, program: str) -> str:
        boxed = self._sandbox is not None and self._usual != "host"
        path = BOX_PATH if boxed else self._environment["PATH"]
        return shutil.which(program, path=path) or ""

    async def strays(self) -> tuple[CallId, ...]:
        """Commands of calls that run here now, of whichever process they were."""
        return await asyncio.to_thread(self._register.strays)

    async def sweep(self) -> int:
        """Remove what is old, then the oldest while too much is kept; returns how many."""
        return await asyncio.to_thread(self._register.sweep)

    async def close(self) -> None:
        self._reaper.close()

    # ── starting ────────────────────────────────────────────────────────────────────────────────

    def _starts(self, launch: Launch) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        starting = loop.run_in_executor(None, self._begin, launch, loop)
        self._starting[launch.id] = starting

        def forget(started: asyncio.Future[None]) -> None:
            started.exception()  # the launch raises it, unless it was cancelled
            if self._starting.get(launch.id) is started:
                del self._starting[launch.id]

        starting.add_done_callback(forget)
        return starting

    def _begin(self, launch: Launch, loop: asyncio.AbstractEventLoop) -> None:
        """Only the wrapper that takes the gate runs the command, so one too many does no harm."""
        folder = self._register.folder(launch.id)
        meta = folder.meta()
        if meta is not None and not isinstance(self._register.state(folder, meta), Pending):
            return
        timeout = launch.timeout_s
        deadline = None if timeout is None else time.monotonic() + timeout
        boot = self._register.boot
        folder.prepare(Meta(launch=launch, boot=boot, at=time.time(), deadline=deadline))
        try:
            pid = self._spawn(launch, folder)
        except ToolFailed:
            folder.bar("unstarted")
            raise
        loop.call_soon_threadsafe(self._reaper.adopt, pid, launch.id)

    def _spawn(self, launch: Launch, folder: Folder) -> int:
        box = self._box(launch, folder)
        note = str(folder.workdir_file)
        text = shell_text(launch.command, workdir_file=note, limits=box.limits)
        arguments = wrapped(
            (*box.arguments, self._shell, "-c", text, SHELL_NAME),
            directory=str(folder.path),
            bytes_max=self._limits.output_bytes,
            groups=box.groups,
            script=self._script,
        )
        return detached(arguments, workdir=launch.workdir, environment=box.environment)

    def _box(self, launch: Launch, folder: Folder) -> Box:
        if self._sandbox is None:
            return Box(environment=self._environment)
        note = str(folder.workdir_file)
        profile = self._usual if launch.profile == "write" else launch.profile
        return self._sandbox.box(
            Wish(
                profile=profile,
                call=launch.id,
                workdir=launch.workdir,
                workspace=launch.workspace,
                note=note,
                readable=launch.readable,
            )
        )

    # ── ending ──────────────────────────────────────────────────────────────────────────────────

    async def _drained(self, folder: Folder) -> Sighting:
        """A short while for the output to get through the pipe; a daemon may hold it for ever."""
        ended_at, pause = folder.ended_at(), POLL_S_MIN
        while not folder.drained() and 0 <= time.time() - ended_at <= self._limits.drain_s:
            await asyncio.sleep(pause)
            pause *= 2
        return await asyncio.to_thread(self._register.sight, folder)

    async def _ended_by_us(self, folder: Folder, cut: Literal["timeout", "stopped"]) -> Sighting:
        """The reason is noted before the first signal: whoever dies here, the next one ends it."""
        if not folder.bar("stopped" if cut == "stopped" else "unstarted"):
            await asyncio.to_thread(folder.note_cut, cut)
            grace_s = self._limits.grace_s
            steps = [(signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)]
            if abs(time.time() - folder.began_at()) < YOUNG_S:
                steps.insert(0, (signal.SIGTERM, YOUNG_S / 10))
            for number, patience_s in steps:
                await asyncio.to_thread(self._register.signal, folder, number)
                if await self._dies(folder, patience_s):
                    break
        return await self._drained(folder)

    async def _dies(self, folder: Folder, patience_s: float) -> bool:
        until, pause = time.monotonic() + patience_s, POLL_S_MIN
        while await asyncio.to_thread(self._register.groups, folder):
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(pause)
            pause = min(pause * 2, POLL_S_MAX / 2)
        return True
