"""The acts of `hermes demo crash`: real processes on a scratch home, one of them killed.

Nothing here waits for a length of time: the gateway dies when the command's file says that it is
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

from hermes.app import store_only
from hermes.cli import demo_story as story
from hermes.cli.demo_story import Beat, Seen
from hermes.cli.lanes import lane
from hermes.cli.place import Place
from hermes.cli.service.background import Child, spawn
from hermes.cli.service.probe import serves
from hermes.cli.service.service import COMMAND as GATEWAY
from hermes.cli.stored import events_of
from hermes.core.errors import HermesError
from hermes.core.events import Event, TurnEnded
from hermes.core.store import Store
from hermes.settings import prepare

CHAT = (sys.executable, "-I", "-m", "hermes", "chat", "-q", story.QUESTION)
LOOK_S = 0.02
PATIENCE_S = 60.0  # for each act: a machine may be busy
LEAVE_S = 10.0
WORDS = 6


class DemoFailed(HermesError):
    """An act did not come to its end, and the play is off."""


@dataclass
class Play:
    """`tell` hears of every beat as it happens."""

    place: Place  # of the scratch home
    tell: Callable[[Beat], None]
    beats: list[Beat] = field(default_factory=list)
    pages: list[tuple[str, float]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    up: list[tuple[float, float, float]] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)
    watching: "asyncio.Task[None] | None" = None

    async def acts(self) -> Seen:
        began = self.place.clock()
        try:
            await self._start(again=False)
            async with self._watched(), _chat(self.place) as window:
                await self._until(lambda: len(self.pages) >= story.KILL_AT, "the command to work")
                await self._kill()
                await self._until(lambda: len(self.pages) >= story.BACK_AT, "the command to go on")
                self._beat(story.goes_on(self.place.clock(), len(self.pages)))
                await self._start(again=True)
                printed = await self._answer(window)
            self.watching = None
            await self._leave()
        finally:
            await asyncio.to_thread(self._end)
        return Seen(
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
            spawn, GATEWAY, self.place.home, {**self.place.environ, "HERMES_HOME": ""}
        )
        self.children.append(child)
        started = self.place.clock()
        self._beat(story.started(started, child.pid, again=again))
        await self._ready(child)
        at = self.place.clock()
        self.up.append((started, at, 0.0))
        await asyncio.sleep(2 * LOOK_S)  # what is in the journal by then is told before
        self._beat(story.ready(at))

    async def _ready(self, child: Child) -> None:
        async def up() -> bool:
            if child.status() is not None:
                said = child.last_words(WORDS)
                raise DemoFailed(f"the gateway ended by itself. It said: {said}")
            return await asyncio.to_thread(serves, self.place.home)

        await _until(up, "the gateway to be ready")

    async def _kill(self) -> None:
        """At this very instant: nothing can be tidied up, nothing can be said."""
        child = self.children[0]
        os.kill(child.pid, signal.SIGKILL)
        at = self.place.clock()
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
        self._beat(story.answered(self.place.clock()))
        return out.decode("utf-8", "replace")

    async def _leave(self) -> None:
        self._gone(1, self.place.clock())
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
        """The journal and the command's file, from another process: this one."""
        async with store_only(self.place.home, self.place.settings()) as store:
            self.watching = asyncio.create_task(self._watch(store))
            try:
                yield
            finally:
                self.watching.cancel()
                await asyncio.gather(self.watching, return_exceptions=True)

    async def _watch(self, store: Store) -> None:
        file = self.place.home / "workspace" / story.LOG
        while True:
            await asyncio.sleep(LOOK_S)
            lines = await asyncio.to_thread(_lines, file)
            now = self.place.clock()
            self.pages += [(line, now) for line in lines[len(self.pages) :]]
            async for event in events_of(store, lane("main"), after=len(self.events)):
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


def scratch(folder: Path, environ: Mapping[str, str], place: Place) -> Place:
    """A home with a model that answers by script, and nothing of the person's own settings."""
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
    return Place(home=home, environ=kept, console=place.console, clock=place.clock)


@asynccontextmanager
async def _chat(place: Place) -> AsyncIterator[asyncio.subprocess.Process]:
    """The person's window. It waits for the gateway to come back, and shows the answer."""
    window = await asyncio.create_subprocess_exec(
        *CHAT,
        env={**place.environ, "HERMES_HOME": str(place.home)},
        cwd=place.home / "workspace",
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
        raise DemoFailed(f"waited {limit_s:.0f} s for {what}, in vain") from None


def _lines(file: Path) -> list[str]:
    """Whole lines only."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return text.split("\n")[:-1]


def _ends(event: Event) -> bool:
    return isinstance(event, TurnEnded)
