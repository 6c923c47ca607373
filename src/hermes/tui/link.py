"""The connection to the engine: it reconnects, and resends each message until it is durable.

It uses the running gateway. When that goes away it waits for the next one, and opens an engine of
its own if none comes. Every message has its id before it is sent, so sending it again over another
connection is idempotent.
"""

import asyncio
import dataclasses
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from msgspec.structs import replace

from hermes.core.errors import ChannelDown, Fenced, HermesError, Rejected
from hermes.core.ids import SessionId, SessionKey
from hermes.core.messages import Inbound, Media
from hermes.core.session import ref
from hermes.core.signals import Signal
from hermes.core.store import ConversationRow
from hermes.tui.board import Board
from hermes.tui.ports import Attach, EngineConnection, EngineConnections, Mode
from hermes.tui.status import cost_of
from hermes.tui.transcript_items import NoticeLine, TranscriptItem
from hermes.views.scene import Offered, Scene

PATIENCE_S = 60.0  # how long a gateway may take to come back
AGAIN_S, AGAIN_S_MAX = 0.1, 1.0
ROWS, LOOK_BACK = 40, 300
SCENE_S, PAUSE_S = 10.0, 0.2
LISTED_MAX = 200
WAITING = "The gateway stopped. Waiting up to {:.0f} s for it to come back."
BACK = "The gateway is back."
SLEPT = "This process was paused for too long, so another one continues."
ALONE = "No gateway came back: continuing in this window."

Image = tuple[bytes, str, str]


@dataclass(frozen=True, kw_only=True)
class OutgoingDraft:
    """A message that a person sent, and how it treats a running turn."""

    text: str
    images: tuple[Image, ...] = ()
    mode: Mode | None = None  # None: as it stands, a command or nothing to disturb
    key: SessionKey | None = None  # where it is said; None: in the session that is opened first


@dataclass(kw_only=True)
class SessionLink:
    connections: Callable[[], Awaitable[EngineConnections]]
    board: Board
    show: Callable[
        [Iterable[TranscriptItem]], Awaitable[None]
    ]  # returns when it stands on the screen
    choose: Callable[[EngineConnection], Awaitable[SessionKey]]  # which session is looked at first
    patience_s: float = PATIENCE_S
    interrupts: bool = False  # by the settings, a message stops what runs
    key: SessionKey | None = None
    commands: tuple[Offered, ...] = ()
    kind: str = ""
    window: int = 0
    cost: str = ""
    unsent: deque[OutgoingDraft] = field(default_factory=deque)
    stops_next: bool = False  # the turn that begins with what was said last is to be stopped
    _wanted: SessionId | None = None  # the conversation to go back to
    _line: EngineConnection | None = None
    _made: tuple[OutgoingDraft, tuple[Inbound, ...]] | None = (
        None  # what is being said, under its ids
    )
    _bell: asyncio.Event = field(default_factory=asyncio.Event)
    _switched: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, draft: OutgoingDraft) -> None:
        self.unsent.append(dataclasses.replace(draft, key=draft.key or self.key))
        self._bell.set()

    def stop(self) -> bool:
        """Stop the running turn, or the one that the last message is about to start. Return False
        when there is none, or when this was requested before."""
        if self.board.turn is not None:
            self.say(OutgoingDraft(text=f"/stop {self.board.turn}"))
            return True
        if self.stops_next or not (self.unsent or self.board.queue.sent):
            return False
        self.stops_next = True
        return True

    def _stop_next(self) -> None:
        """Stop the requested turn once it has begun: a turn is stopped by its id."""
        if self.stops_next and self.board.turn is not None:
            self.stops_next = False
            self.stop()
        elif not (self.unsent or self.board.queue.sent):
            self.stops_next = False

    def switch(self, key: SessionKey, conversation: SessionId) -> None:
        """Switch to another session, and resume that conversation in it."""
        self.key, self.board = key, Board(clock=self.board.clock)
        self._wanted = conversation
        self._switched.set()

    async def run(self) -> None:
        """Run until cancelled. Raise errors that end the window."""
        connections = await self.connections()
        while True:
            try:
                await self._run(connections)
            except Fenced:  # it was taken for dead while the machine slept
                self.board.rejoin()
                await self.show([NoticeLine(SLEPT, "warn")])

    async def _run(self, connections: EngineConnections) -> None:
        line, attach = await connections.attach(), connections.attach
        async with AsyncExitStack() as stack:
            while True:
                if line is None:
                    attach = await stack.enter_async_context(connections.open_engine())
                    line, self.kind = await attach(), "own engine"
                else:
                    self.kind = self.kind or "gateway"
                if line is not None and await self._serve(line, connections):
                    line = await attach()
                    continue
                line = await self._back(attach)

    async def conversations(self) -> list[ConversationRow]:
        """List the conversations. A fresh scene tells which of them is current here."""
        line, key = self._line, self.key
        if line is None or key is None:
            return []
        self.board.scene = await line.scene(key) or self.board.scene
        return list(await line.conversations(None, limit=LISTED_MAX))

    async def _serve(self, line: EngineConnection, connections: EngineConnections) -> bool:
        """Serve one connection. Return True if it ended because another session was chosen, False
        if it broke."""
        try:
            await self._through(line, connections)
        except ChannelDown:
            self.board.rejoin()
            return False
        finally:
            self._line = None
            await line.close()
        return True

    async def _back(self, attach: Attach) -> EngineConnection | None:
        inner = self.kind != "gateway"
        if not inner:
            await self.show([NoticeLine(WAITING.format(self.patience_s), "warn")])
        now = asyncio.get_running_loop().time
        until, pause_s = now() + self.patience_s, AGAIN_S
        while now() < until:
            await asyncio.sleep(pause_s)
            if (line := await attach()) is not None:
                await self.show([] if inner else [NoticeLine(BACK, "good")])
                return line
            pause_s = min(pause_s * 2, AGAIN_S_MAX)
        self.kind = ""
        await self.show([NoticeLine(ALONE, "warn")])
        return None

    async def _through(self, line: EngineConnection, connections: EngineConnections) -> None:
        """Show one session over one connection, until it breaks or another session is chosen."""
        self._line = line
        self._switched.clear()
        if self.key is None:
            self.key = await self.choose(line)
        key = self.key
        self.commands = tuple(await line.commands())
        await self._follow(line, key, connections)
        tasks = [
            asyncio.create_task(self._watch(line, connections)),
            asyncio.create_task(self._send(line, key, connections)),
            asyncio.create_task(self._look(line, key, connections)),
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

    async def _follow(
        self, line: EngineConnection, key: SessionKey, connections: EngineConnections
    ) -> None:
        after = self.board.position
        if after is None:
            scene = await line.scene(key, recent=ROWS)
            if scene is None:  # an older gateway does not tell: from now on, then
                self.board.position = await line.follow(key, None, live=True)
                return
            wanted, self._wanted = self._wanted, None
            if wanted is not None and wanted != scene.id:
                scene = replace(scene, recent=())  # of the conversation that is left at once
                self.say(OutgoingDraft(text=f"/resume {wanted}"))
            self._see(scene, connections)
            await self.show(self.board.open(scene))
            after = scene.head if scene.since is None else max(0, scene.since - LOOK_BACK)
            self.board.position = after
        await line.follow(key, after, live=True)

    async def _recall(
        self, line: EngineConnection, key: SessionKey, connections: EngineConnections
    ) -> None:
        """Show the messages of a conversation that was just resumed."""
        scene = await line.scene(key, recent=ROWS) if self.board.brought_back else None
        if scene is not None:
            self._see(scene, connections)
            await self.show(self.board.recall(scene))

    async def _watch(self, line: EngineConnection, connections: EngineConnections) -> None:
        while True:
            seen = await line.next()
            if isinstance(seen, Signal):
                if seen.session == self.key:
                    shown = list(self.board.hear(seen))
                    self._stop_next()
                    await self.show(shown)
                    await self._recall(line, seen.session, connections)
            else:
                key, reply = seen
                await self.show(self.board.deliver(reply))
                await line.shown(key)

    async def _send(
        self, line: EngineConnection, key: SessionKey, connections: EngineConnections
    ) -> None:
        while True:
            while self.unsent:
                draft = self.unsent[0]
                if self._made is None or self._made[0] is not draft:
                    media = tuple([await line.media.put(*image) for image in draft.images])
                    self._made = (
                        draft,
                        self._messages(draft, media, draft.key or key, connections),
                    )
                await self._deliver(line, self._made[1])
                self._made = None
                self.unsent.popleft()
                self._stop_next()
                await self.show([])
            self._bell.clear()
            await self._bell.wait()

    async def _deliver(self, line: EngineConnection, messages: Iterable[Inbound]) -> None:
        for inbound in messages:
            sent = self.board.queue.sent
            sent.add(ref(inbound))
            try:
                await line.say(inbound)
            except Rejected as refused:
                sent.discard(ref(inbound))
                await self.show([NoticeLine(str(refused), "bad")])

    def _messages(
        self,
        draft: OutgoingDraft,
        media: tuple[Media, ...],
        key: SessionKey,
        connections: EngineConnections,
    ) -> tuple[Inbound, ...]:
        """Return the messages for a draft. A stop names its turn, so that a newer turn is left
        alone."""
        turn, said = self.board.turn, replace(connections.message(key, draft.text), media=media)
        if turn is None or draft.mode is None:
            return (said,)
        if draft.mode == "steer" and not media:
            return (connections.message(key, f"/steer {draft.text}"),)
        if draft.mode == "interrupt":
            if self.interrupts:
                return (said,)
            return (connections.message(key, f"/stop {turn}"), replace(said, waits=True))
        return (replace(said, waits=True),)

    async def _look(
        self, line: EngineConnection, key: SessionKey, connections: EngineConnections
    ) -> None:
        """Refresh the session's state, soon after each event and periodically."""
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
                await self.show([NoticeLine(str(failed), "bad")])
                continue
            if scene is not None:
                self._see(scene, connections)
                await self.show([])

    def _see(self, scene: Scene, connections: EngineConnections) -> None:
        self.board.scene = scene
        self.window = connections.window(scene.model)
        self.cost = cost_of(scene.spent, connections.price)
