"""The chat's side of the channel: through a running gateway, or with an engine of its own."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from msgspec.structs import replace

from hermes.channels.local.manifest import OWN
from hermes.channels.local.sockets import GONE, Streams, closed, connected, next_line
from hermes.channels.local.wire import (
    PROTOCOL,
    SCENES,
    Answered,
    AskCommands,
    AskConversations,
    Asked,
    AskOutcome,
    AskScene,
    AskStatus,
    CommandsTold,
    ConversationsTold,
    Deliver,
    Delivered,
    DeliveryShown,
    Done,
    Failed,
    Follow,
    Following,
    Happened,
    Hello,
    OutcomeTold,
    Retry,
    Say,
    SayTold,
    SceneTold,
    StatusTold,
    SummingUp,
    Thinking,
    Told,
    WireProgress,
    WireText,
    error_of,
    line,
    signal_of,
    told,
)
from hermes.core.channel import GatewayStatus, Manifest
from hermes.core.errors import ChannelDown
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound, Reply
from hermes.core.projection import TurnRow
from hermes.core.signals import Signal
from hermes.core.store import Accepted, ConversationRow, MediaStore
from hermes.views.scene import Offered, Scene
from hermes.views.turn_story import StepRow

HELLO_S = 3.0
ANSWER_S = 60.0
GLIMPSES_MAX = 5_000  # of live text that nobody has read yet; what is recorded is never dropped

Seen = Signal | tuple[str, Reply]


class LocalChannel:
    """Show each reply once on this terminal."""

    def __init__(self, show: Callable[[Reply, str], None]) -> None:
        self._show = show

    @property
    def manifest(self) -> Manifest:
        return OWN

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        self._show(reply, chunk)
        return key


class Attached:
    """A chat connected to the gateway's socket. Every method raises ChannelDown when the gateway is
    gone."""

    def __init__(
        self, streams: Streams, *, media: MediaStore, abilities: Sequence[str] = ()
    ) -> None:
        self.media = media  # of the home that both live in
        self._abilities = abilities
        self._reader, self._writer = streams
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[Answered | None]] = {}  # None: gone
        self._seen: deque[Seen] = deque()
        self._bell = asyncio.Event()
        self._gone: ChannelDown | None = None
        self._hearing = asyncio.create_task(self._hear())

    @classmethod
    async def to(cls, path: Path, *, media: MediaStore) -> "Attached | None":
        """Connect to the socket. Return None if no gateway listens there, or one with another
        protocol."""
        try:
            streams = await connected(path)
        except OSError:
            return None
        return await cls.by(streams, media=media)

    @classmethod
    async def by(cls, streams: Streams, *, media: MediaStore) -> "Attached | None":
        """Connect through these streams. Return None if the other side speaks another protocol."""
        try:
            async with asyncio.timeout(HELLO_S):
                hello = told(await next_line(streams[0]))
        except (ChannelDown, TimeoutError):
            hello = None
        if isinstance(hello, Hello) and hello.protocol == PROTOCOL:
            return cls(streams, media=media, abilities=hello.abilities)
        await closed(streams[1])
        return None

    async def status(self) -> GatewayStatus:
        said = await self._answer(AskStatus)
        assert isinstance(said, StatusTold), "the answer fits the question"
        return said.status

    async def say(self, inbound: Inbound) -> Accepted:
        """Store a message, durable when this returns. Raise Rejected, or the store's error."""
        said = await self._answer(lambda n: Say(n, inbound))
        assert isinstance(said, SayTold), "the answer fits the question"
        return said.accepted

    async def follow(self, key: SessionKey, after: int | None, *, live: bool) -> int:
        """Follow a session from now on, or from after `after`; `next` then returns its events.
        Return the session's current position: events up to there have happened before."""
        said = await self._answer(lambda n: Follow(n, key, after, live))
        assert isinstance(said, Following), "the answer fits the question"
        return said.head

    async def next(self) -> Seen:
        """Return the next event of a followed session, or a reply to show, with its key."""
        while not self._seen:
            if self._gone is not None:
                raise self._gone
            self._bell.clear()
            await self._bell.wait()
        return self._seen.popleft()

    async def shown(self, key: str) -> None:
        """Confirm that a person can see the reply."""
        await self._write(DeliveryShown(key))

    async def deliver(self, key: SessionKey) -> None:
        """Show everything that waits for this session; it is all shown when this returns."""
        said = await self._answer(lambda n: Deliver(n, key))
        assert isinstance(said, Done), "the answer fits the question"

    async def outcome(
        self, key: SessionKey, turn: TurnId | None
    ) -> tuple[SessionId, TurnRow | None, tuple[StepRow, ...]]:
        said = await self._answer(lambda n: AskOutcome(n, key, turn))
        assert isinstance(said, OutcomeTold), "the answer fits the question"
        return said.outcome.session_id, said.outcome.turn, said.outcome.steps

    async def scene(self, key: SessionKey, *, recent: int = 0) -> Scene | None:
        """Return how a session stands; None if an older gateway does not know the request. The same
        holds for the next two."""
        if SCENES not in self._abilities:
            return None
        said = await self._answer(lambda n: AskScene(n, key, recent))
        assert isinstance(said, SceneTold), "the answer fits the question"
        return said.scene

    async def commands(self) -> Sequence[Offered]:
        if SCENES not in self._abilities:
            return ()
        said = await self._answer(AskCommands)
        assert isinstance(said, CommandsTold), "the answer fits the question"
        return said.commands

    async def conversations(
        self, key: SessionKey | None, *, limit: int
    ) -> Sequence[ConversationRow]:
        if SCENES not in self._abilities:
            return ()
        said = await self._answer(lambda n: AskConversations(n, key, limit))
        assert isinstance(said, ConversationsTold), "the answer fits the question"
        return said.rows

    async def close(self) -> None:
        self._hearing.cancel()
        await asyncio.wait({self._hearing})
        await closed(self._writer)

    async def _answer(self, question: Callable[[int], Asked]) -> Answered:
        n = next(self._numbers)
        answer: asyncio.Future[Answered | None] = asyncio.get_running_loop().create_future()
        self._asked[n] = answer
        try:
            await self._write(question(n))
            async with asyncio.timeout(ANSWER_S):
                said = await answer
        except TimeoutError as late:
            raise ChannelDown("the gateway does not answer", delay_s=0) from late
        finally:
            del self._asked[n]
        if said is None:
            raise self._gone or ChannelDown(GONE, delay_s=0)
        if isinstance(said, Failed):
            raise error_of(said)
        return said

    async def _write(self, said: Asked) -> None:
        if self._gone is not None:
            raise self._gone
        try:
            self._writer.write(line(said))
            await self._writer.drain()
        except OSError as broken:
            raise ChannelDown(f"the gateway is gone: {broken}", delay_s=0) from broken

    async def _hear(self) -> None:
        try:
            while True:
                self._take(told(await next_line(self._reader)))
        except ChannelDown as gone:
            self._gone = gone
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_result(None)
            self._bell.set()

    def _take(self, said: Told) -> None:
        match said:
            case Happened():
                self._put(signal_of(said))
            case WireText() | Thinking() | WireProgress() | Retry() | SummingUp():
                if len(self._seen) < GLIMPSES_MAX:
                    self._put(signal_of(said))
            case Delivered(key=key, reply=reply, chunk=chunk):
                self._put((key, replace(reply, text=chunk)))
            case Hello():
                pass
            case _:
                answer = self._asked.get(said.n)
                if answer is not None and not answer.done():
                    answer.set_result(said)

    def _put(self, seen: Seen) -> None:
        self._seen.append(seen)
        self._bell.set()
