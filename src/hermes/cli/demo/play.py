"""Play `hermes demo crash`: real processes on a scratch home, one of them killed.

Nothing here waits for a fixed time: the gateway is killed when the command's file says that it is
half done, and the next one starts when that file shows that the command went on without it.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from hermes.app.application import store_only
from hermes.cli.context import CliContext
from hermes.cli.demo import story
from hermes.cli.demo.story import Beat, DemoObservations
from hermes.cli.gateway.service.background import GatewayChild, spawn
from hermes.cli.gateway.service.probe import serves
from hermes.cli.gateway.service.service import COMMAND as GATEWAY
from hermes.cli.lookup.session_keys import parse_session_key
from hermes.cli.lookup.store import events_of
from hermes.core.errors import HermesError
from hermes.core.events import Event, TurnEnded
from hermes.core.store import Store
from hermes.settings import prepare

SESSION = "main"
CHAT = (sys.executable, "-I", "-m", "hermes", "chat", "--session", SESSION, "-q", story.QUESTION)
LOOK_S = 0.02
PATIENCE_S = 60.0  # for each act: a machine may be busy
LEAVE_S = 10.0
WORDS = 6


class DemoFailed(HermesError):
    """A step of the demo failed, and the demo stops."""


@dataclass
class Play:
    """One run of the demo. `tell` is called with every event as it happens."""

    context: CliContext  # of the scratch home
    tell: Callable[[Beat], None]
    beats: list[Beat] = field(default_factory=list)
    pages: list[tuple[str, float]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    up: list[tuple[float, float, float]] = field(default_factory=list)
    children: list[GatewayChild] = field(default_factory=list)
    watching: "asyncio.Task[None] | None" = None

    async def acts(self) -> DemoObservations:
        began = self.context.clock()
        try:
            await self._start(again=False)
            async with self._watched(), _chat(self.context) as window:
                await self._until(lambda: len(self.pages) >= story.KILL_AT, "the command to work")
                await self._kill()
                await self._until(lambda: len(self.pages) >= story.BACK_AT, "the command to go on")
                self._beat(story.goes_on(self.context.clock(), len(self.pages)))
                await self._start(again=True)
                printed = await self._answer(window)
            self.watching = None
            await self._leave()
        finally:
            await asyncio.to_thread(self._end)
        return DemoObservations(
            began=began,
            up=tuple(self.up),
            pages=tuple(self.pages),
            events=tuple(self.events),
            printed=printed,
        )

    def _beat(self, beat: Beat) -> None:
        self.beats.append(beat)
        self.tell(beat)

    async def _start(self, *, again: bool) -> None:
        child = await asyncio.to_thread(
            spawn, GATEWAY, self.context.home, {**self.context.environ, "HERMES_HOME": ""}
        )
        self.children.append(child)
        started = self.context.clock()
        self._beat(story.started(started, child.pid, again=again))
        await self._ready(child)
        at = self.context.clock()
        self.up.append((started, at, 0.0))
        await asyncio.sleep(2 * LOOK_S)  # what is in the journal by then is told before
        self._beat(story.ready(at))

    async def _ready(self, child: GatewayChild) -> None:
        async def up() -> bool:
            if child.status() is not None:
                said = child.last_words(WORDS)
                raise DemoFailed(f"the gateway ended by itself. It said: {said}")
            return await asyncio.to_thread(serves, self.context.home)

        await _until(up, "the gateway to be ready")

    async def _kill(self) -> None:
        """Kill the gateway with SIGKILL, so that it cannot clean up."""
        child = self.children[0]
        os.kill(child.pid, signal.SIGKILL)
        at = self.context.clock()
        self._beat(story.killed(at, child.pid, len(self.pages)))
        self._gone(0, at)
        await self._until(lambda: child.status() is not None, "the gateway to be dead")

    def _gone(self, number: int, at: float) -> None:
        started, ready, _ = self.up[number]
        self.up[number] = (started, ready, at)

    async def _answer(self, window: asyncio.subprocess.Process) -> str:
        try:
            async with asyncio.timeout(PATIENCE_S):
                out, _ = await window.communicate()
        except TimeoutError:
            raise DemoFailed(f"no answer came within {PATIENCE_S:.0f} s") from None
        await self._until(lambda: any(_ends(event) for event in self.events), "the turn to end")
        self._beat(story.answered(self.context.clock()))
        return out.decode("utf-8", "replace")

    async def _leave(self) -> None:
        self._gone(1, self.context.clock())
        child = self.children[-1]
        os.kill(child.pid, signal.SIGTERM)
        with suppress(DemoFailed):
            await self._until(lambda: child.status() is not None, "the gateway to leave", LEAVE_S)

    def _end(self) -> None:
        for child in self.children:
            if child.status() is None:
                os.kill(child.pid, signal.SIGKILL)
                while child.status() is None:
                    time.sleep(LOOK_S)

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        """Watch the journal and the command's file from this process while the block runs."""
        async with store_only(self.context.home, self.context.settings()) as store:
            self.watching = asyncio.create_task(self._watch(store))
            try:
                yield
            finally:
                self.watching.cancel()
                await asyncio.gather(self.watching, return_exceptions=True)

    async def _watch(self, store: Store) -> None:
        file = self.context.home / "workspace" / story.LOG
        while True:
            await asyncio.sleep(LOOK_S)
            lines = await asyncio.to_thread(_lines, file)
            now = self.context.clock()
            self.pages += [(line, now) for line in lines[len(self.pages) :]]
            async for event in events_of(store, parse_session_key(SESSION), after=len(self.events)):
                self.events.append(event)
                if (beat := story.beat_of(event, again=len(self.children) > 1)) is not None:
                    self._beat(beat)

    async def _until(
        self, holds: Callable[[], bool], what: str, limit_s: float = PATIENCE_S
    ) -> None:
        async def look() -> bool:
            if self.watching is not None and self.watching.done():
                await asyncio.shield(self.watching)  # what it died of is what went wrong
            return holds()

        await _until(look, what, limit_s)


def scratch(folder: Path, environ: Mapping[str, str], context: CliContext) -> CliContext:
    """Return a scratch home with a scripted model, free of the person's own settings."""
    home = folder / "home"
    prepare(home)
    (home / "workspace").mkdir(exist_ok=True)
    file = folder / "script.json"
    file.write_bytes(msgspec.json.encode(story.script()))
    settings = {
        "model": {"provider": "scripted", "name": str(file)},
        "terminal": {"workdir": str(home / "workspace")},
    }
    (home / "config.yaml").write_bytes(msgspec.json.encode(settings))
    kept = {name: text for name, text in environ.items() if not name.startswith("HERMES_")}
    return CliContext(home=home, environ=kept, console=context.console, clock=context.clock)


@asynccontextmanager
async def _chat(context: CliContext) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the person's chat. It waits for the gateway to come back, and shows the answer."""
    window = await asyncio.create_subprocess_exec(
        *CHAT,
        env={**context.environ, "HERMES_HOME": str(context.home)},
        cwd=context.home / "workspace",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield window
    finally:
        if window.returncode is None:
            window.kill()
            await window.wait()


async def _until(
    holds: Callable[[], Awaitable[bool]], what: str, limit_s: float = PATIENCE_S
) -> None:
    try:
        async with asyncio.timeout(limit_s):
            while not await holds():  # noqa: ASYNC110 (other processes: there is no bell)
                await asyncio.sleep(LOOK_S)
    except TimeoutError:
        raise DemoFailed(f"waited {limit_s:.0f} s for {what}; it did not happen") from None


def _lines(file: Path) -> list[str]:
    """Return the complete lines of a file."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return text.split("\n")[:-1]


def _ends(event: Event) -> bool:
    return isinstance(event, TurnEnded)
