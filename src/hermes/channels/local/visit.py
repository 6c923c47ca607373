"""One chat at the gateway's socket: its requests and answers. A broken visit harms no other."""

import asyncio
import logging
from collections.abc import Coroutine

from hermes.channels.local.connections import LocalConnections
from hermes.channels.local.follower import LocalFollower
from hermes.channels.local.scenes import conversations, listed, scene
from hermes.channels.local.shared import LocalReceivers
from hermes.channels.local.sockets import Streams, closed, next_line
from hermes.channels.local.wire import (
    ABILITIES,
    PROTOCOL,
    AskCommands,
    AskConversations,
    Asked,
    AskOutcome,
    AskScene,
    AskStatus,
    CommandsTold,
    ConversationsTold,
    Deliver,
    DeliveryShown,
    Done,
    Follow,
    Hello,
    Looked,
    OutcomeTold,
    Say,
    SayTold,
    SceneTold,
    StatusTold,
    Told,
    TurnOutcome,
    asked,
    failure,
    line,
)
from hermes.core.channel import ChannelHost
from hermes.core.errors import ChannelDown, HermesError, Rejected
from hermes.core.events import Event, TurnEnded, TurnInterrupted
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import Inbound
from hermes.core.store import Library
from hermes.views.turn_story import story

ASKS_MAX = 64  # at once, of one chat
TAKE_S = 30.0  # a chat that reads nothing for so long is gone
PAGE = 1_000
ORIGINS = ("person", "relay")

log = logging.getLogger("hermes.channels.local")


class Visit:
    def __init__(
        self,
        host: ChannelHost,
        crowd: LocalConnections,
        receivers: LocalReceivers,
        streams: Streams,
    ) -> None:
        self._door = host
        self._crowd = crowd
        self._ears = receivers
        self._reader, self._writer = streams
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._follows: dict[SessionKey, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Serve until the chat leaves, or sends something that cannot be read."""
        try:
            await self._tell(Hello(PROTOCOL, ABILITIES))
            while True:
                self._take(asked(await next_line(self._reader)))
        except ChannelDown as left:
            log.debug("a chat left: %s", left)
        finally:
            for task in self._tasks:
                task.cancel()
            await closed(self._writer)
            if self._tasks:
                await asyncio.wait(self._tasks)

    def _take(self, said: Asked) -> None:
        match said:
            case DeliveryShown(key=key):
                self._crowd.seen(key)
            case Follow(key=key):
                if key in self._follows:
                    self._follows[key].cancel()
                self._follows[key] = self._begin(self._follow(said))
            case _:
                self._begin(self._answer(said))

    def _begin(self, work: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        if len(self._tasks) > ASKS_MAX:
            raise ChannelDown("a chat asks too much at once", delay_s=0)
        return task

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if not isinstance(error, ChannelDown):
            log.error("a chat was disconnected: %s", error, exc_info=error)
        self._writer.transport.abort()

    async def _answer(self, said: AskStatus | Say | Deliver | AskOutcome | Looked) -> None:
        try:
            await self._tell(await self._answered(said))
        except ChannelDown:
            raise
        except HermesError as error:
            await self._tell(failure(said.n, error))

    async def _answered(self, said: AskStatus | Say | Deliver | AskOutcome | Looked) -> Told:
        match said:
            case AskStatus(n=n):
                return StatusTold(n, await self._door.status())
            case Say(n=n, inbound=inbound):
                demand_local(inbound)
                return SayTold(n, await self._door.accept(inbound))
            case Deliver(n=n, key=key):
                await asyncio.shield(self._crowd.deliver(key, self._door))
                return Done(n)
            case AskOutcome(n=n, key=key, turn=turn):
                return OutcomeTold(n, await outcome(self._door.store.library, key, turn))
            case AskScene(n=n, key=key, recent=recent):
                return SceneTold(n, await scene(self._door.store, key, recent))
            case AskCommands(n=n):
                return CommandsTold(n, listed(self._door.commands))
            case AskConversations(n=n, key=lane, limit=limit):
                return ConversationsTold(n, await conversations(self._door.store, lane, limit))

    async def _follow(self, said: Follow) -> None:
        follower = LocalFollower(
            said.key,
            self._door,
            live=said.live,
            tell=self._tell,
            want=lambda: self._crowd.deliver(said.key, self._door),
        )
        with self._ears.listening(said.key, self._door) as feed:
            feed.skip(await follower.begin(said.n, said.after))
            self._crowd.join(follower)
            try:
                await follower.run(feed)
            finally:
                self._crowd.leave(follower)

    async def _tell(self, said: Told) -> None:
        async with self._writing:
            try:
                self._writer.write(line(said))
                async with asyncio.timeout(TAKE_S):
                    await self._writer.drain()
            except (OSError, TimeoutError) as broken:
                raise ChannelDown(f"a chat is gone: {broken}", delay_s=0) from broken


def demand_local(inbound: Inbound) -> None:
    """Raise Rejected unless the chat speaks for this machine's person, or passes something on."""
    if inbound.account != "local" or inbound.origin not in ORIGINS:
        raise Rejected("a chat speaks for the account “local” only")
    if inbound.origin == "person" and inbound.address.platform != "local":
        raise Rejected("a chat is answered in the terminal only")


async def outcome(library: Library, key: SessionKey, turn: TurnId | None) -> TurnOutcome:
    session = await library.find(key)
    id_ = session.id if session is not None else SessionId("")
    row = await library.turn(turn) if turn is not None else None
    if row is None:
        return TurnOutcome(session_id=id_)
    events: list[Event] = []
    after = row.first - 1
    while page := await library.events(row.key, after=after, limit=PAGE):
        events += page
        after += len(page)
        if any(isinstance(e, TurnEnded | TurnInterrupted) and e.turn == row.id for e in page):
            break
    return TurnOutcome(session_id=id_, turn=row, steps=story(events))
