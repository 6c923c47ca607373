"""The way to the engine: found, kept, found again. What is said is said until it is durable.

A gateway that runs is used; when it goes away the next one is waited for, and where none comes
an engine of our own is opened. Everything said has its id before it leaves, so that saying it
again by another way is saying it once.
"""

import asyncio
import dataclasses
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from msgspec.structs import replace

from hermes.core.errors import ChannelDown, Fenced, HermesError, Rejected
from hermes.core.ids import SessionKey
from hermes.core.messages import Inbound, Media
from hermes.core.signals import Signal
from hermes.core.store import ConversationRow
from hermes.tui.board import Board
from hermes.tui.ports import Attach, Line, Mode, Ways
from hermes.tui.shown import Remark, Shown
from hermes.tui.status import cost_of
from hermes.views.scene import Offered, Scene

PATIENCE_S = 60.0  # how long a gateway may take to come back
AGAIN_S, AGAIN_S_MAX = 0.1, 1.0
ROWS, LOOK_BACK = 40, 300
SCENE_S, PAUSE_S = 10.0, 0.2
LISTED_MAX = 200
WAITING = "The gateway is gone. Waiting up to {:.0f} s for it to come back."
BACK = "The gateway is back."
SLEPT = "The engine was cut off for a while, as in a sleep: another one goes on."
ALONE = "No gateway came back: going on with an engine of our own."

Image = tuple[bytes, str, str]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What a person has sent, and how it treats a turn that runs."""

    text: str
    images: tuple[Image, ...] = ()
    mode: Mode | None = None  # None: as it stands, a command or nothing to disturb
    key: SessionKey | None = None  # where it is said; None: in the session that is opened first


@dataclass(kw_only=True)
class Link:
    ways: Callable[[], Awaitable[Ways]]
    board: Board
    show: Callable[[Iterable[Shown]], Awaitable[None]]  # returns when it stands on the screen
    choose: Callable[[Line], Awaitable[SessionKey]]  # which session is looked at first
    patience_s: float = PATIENCE_S
    interrupts: bool = False  # by the settings, a message stops what runs
    key: SessionKey | None = None
    commands: tuple[Offered, ...] = ()
    kind: str = ""
    window: int = 0
    cost: str = ""
    unsent: deque[Draft] = field(default_factory=deque)
    _line: Line | None = None
    _made: tuple[Draft, tuple[Inbound, ...]] | None = None  # what is being said, under its ids
    _bell: asyncio.Event = field(default_factory=asyncio.Event)
    _switched: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, draft: Draft) -> None:
        self.unsent.append(dataclasses.replace(draft, key=draft.key or self.key))
        self._bell.set()

    def switch(self, key: SessionKey) -> None:
        """Look at another session from now on."""
        self.key, self.board = key, Board(clock=self.board.clock)
        self._switched.set()

    async def run(self) -> None:
        """Until cancelled. Raises what makes going on pointless."""
        ways = await self.ways()
        while True:
            try:
                await self._run(ways)
            except Fenced:  # it was taken for dead while the machine slept
                self.board.rejoin()
                await self.show([Remark(SLEPT, "warn")])

    async def _run(self, ways: Ways) -> None:
        line, attach = await ways.beside(), ways.beside
        async with AsyncExitStack() as stack:
            while True:
                if line is None:
                    attach = await stack.enter_async_context(ways.inside())
                    line, self.kind = await attach(), "own engine"
                else:
                    self.kind = self.kind or "gateway"
                if line is not None and await self._lasted(line, ways):
                    line = await attach()
                    continue
                line = await self._back(attach)

    async def conversations(self) -> list[ConversationRow]:
        line = self._line
        if line is None:
            return []
        return list(await line.conversations(None, limit=LISTED_MAX))

    async def _lasted(self, line: Line, ways: Ways) -> bool:
        """Until the way broke, or somebody wanted to look at another session: then it lasted."""
        try:
            await self._through(line, ways)
        except ChannelDown:
            self.board.rejoin()
            return False
        finally:
            self._line = None
            await line.close()
        return True

    async def _back(self, attach: Attach) -> Line | None:
        inner = self.kind != "gateway"
        if not inner:
            await self.show([Remark(WAITING.format(self.patience_s), "warn")])
        now = asyncio.get_running_loop().time
        until, pause_s = now() + self.patience_s, AGAIN_S
        while now() < until:
            await asyncio.sleep(pause_s)
            if (line := await attach()) is not None:
                await self.show([] if inner else [Remark(BACK, "good")])
                return line
            pause_s = min(pause_s * 2, AGAIN_S_MAX)
        self.kind = ""
        await self.show([Remark(ALONE, "warn")])
        return None

    async def _through(self, line: Line, ways: Ways) -> None:
        """One session by one way, until the way breaks or another session is wanted."""
        self._line = line
        self._switched.clear()
        if self.key is None:
            self.key = await self.choose(line)
        key = self.key
        self.commands = tuple(await line.commands())
        await self._follow(line, key, ways)
        tasks = [
            asyncio.create_task(self._watch(line)),
            asyncio.create_task(self._send(line, key, ways)),
            asyncio.create_task(self._look(line, key, ways)),
        ]
        switched = asyncio.create_task(self._switched.wait())
        try:
            done, _ = await asyncio.wait({*tasks, switched}, return_when="FIRST_COMPLETED")
            for task in done & {*tasks}:
                task.result()
        finally:
            for each in (*tasks, switched):
                each.cancel()
            await asyncio.gather(*tasks, switched, return_exceptions=True)

    async def _follow(self, line: Line, key: SessionKey, ways: Ways) -> None:
        after = self.board.position
        if after is None:
            scene = await line.scene(key, recent=ROWS)
            if scene is None:  # an older gateway does not tell: from now on, then
                self.board.position = await line.follow(key, None, live=True)
                return
            self._see(scene, ways)
            await self.show(self.board.open(scene))
            after = scene.head if scene.since is None else max(0, scene.since - LOOK_BACK)
            self.board.position = after
        await line.follow(key, after, live=True)

    async def _watch(self, line: Line) -> None:
        while True:
            seen = await line.next()
            if isinstance(seen, Signal):
                if seen.session == self.key:
                    await self.show(self.board.hear(seen))
            else:
                key, reply = seen
                await self.show(self.board.deliver(reply))
                await line.shown(key)

    async def _send(self, line: Line, key: SessionKey, ways: Ways) -> None:
        while True:
            while self.unsent:
                draft = self.unsent[0]
                if self._made is None or self._made[0] is not draft:
                    media = tuple([await line.media.put(*image) for image in draft.images])
                    self._made = (draft, self._messages(draft, media, draft.key or key, ways))
                await self._said(line, self._made[1])
                self._made = None
                self.unsent.popleft()
                await self.show([])
            self._bell.clear()
            await self._bell.wait()

    async def _said(self, line: Line, messages: Iterable[Inbound]) -> None:
        for inbound in messages:
            try:
                await line.say(inbound)
            except Rejected as refused:
                await self.show([Remark(str(refused), "bad")])

    def _messages(
        self, draft: Draft, media: tuple[Media, ...], key: SessionKey, ways: Ways
    ) -> tuple[Inbound, ...]:
        """A turn is stopped by its name: another one that began meanwhile is left alone."""
        turn, said = self.board.turn, replace(ways.message(key, draft.text), media=media)
        if turn is None or draft.mode is None:
            return (said,)
        if draft.mode == "steer" and not media:
            return (ways.message(key, f"/steer {draft.text}"),)
        if draft.mode == "interrupt":
            if self.interrupts:
                return (said,)
            return (ways.message(key, f"/stop {turn}"), replace(said, waits=True))
        return (replace(said, waits=True),)

    async def _look(self, line: Line, key: SessionKey, ways: Ways) -> None:
        """How the session stands, soon after something happened and now and then."""
        while True:
            for _ in range(int(SCENE_S / PAUSE_S)):
                await asyncio.sleep(PAUSE_S)
                if self.board.stale:
                    break
            self.board.stale = False
            try:
                scene = await line.scene(key)
            except ChannelDown:
                raise
            except HermesError as failed:
                await self.show([Remark(str(failed), "bad")])
                continue
            if scene is not None:
                self._see(scene, ways)
                await self.show([])

    def _see(self, scene: Scene, ways: Ways) -> None:
        self.board.scene = scene
        self.window = ways.window(scene.model)
        self.cost = cost_of(scene.spent, ways.price)
