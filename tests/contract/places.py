"""Where the store under test lives, and short words for what tests do with it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hermes.core import events as e
from hermes.core.ids import MessageId, NodeId, ReplyId, SessionId, SessionKey, TurnId, session_key
from hermes.core.messages import Address, Inbound, Person, Reply
from hermes.core.projection import commit_of
from hermes.core.recall import EVERYTHING, Scope
from hermes.core.session import Session
from hermes.core.store import Fence, Hit, Store
from hermes.stores.postgres import open_postgres
from hermes.stores.sqlite import open_sqlite

LEASE_S = 15.0
BEAT_S = 0.1
CLOSE_S = 30.0
KEY = b"of these tests, 32 bytes long :)"  # of the audit log
A, B = NodeId("node-a"), NodeId("node-b")


async def open_place(
    name: str,
    *,
    clock: Callable[[], float] = time.time,
    lease_s: float = LEASE_S,
    audit_key: bytes = KEY,
) -> Store:
    """By its name alone, so that another process can do the same."""
    if name.startswith("postgresql:"):
        return await open_postgres(name, clock=clock, lease_s=lease_s, audit_key=audit_key)
    return await open_sqlite(Path(name), clock=clock, lease_s=lease_s, audit_key=audit_key)


@dataclass
class Place:
    """One database. What was opened here is closed at the end of the test."""

    name: str
    opened: list[Store] = field(default_factory=list)

    async def open(
        self,
        *,
        clock: Callable[[], float] = time.time,
        lease_s: float = LEASE_S,
        audit_key: bytes = KEY,
    ) -> Store:
        store = await open_place(self.name, clock=clock, lease_s=lease_s, audit_key=audit_key)
        self.opened.append(store)
        return store

    async def close(self) -> None:
        async with asyncio.timeout(CLOSE_S):
            while self.opened:
                await self.opened.pop().upkeep.close()


class SqlitePlace(Place):
    """A file."""


class PostgresPlace(Place):
    """A database of the server that the tests started."""


def lane(chat: str) -> SessionKey:
    return session_key("telegram", "dm", chat)


def message(number: int | str, chat: str = "1", text: str = "hello", at: float = 1.0) -> Inbound:
    return Inbound(
        id=MessageId(f"{chat}-{number}"),
        account="telegram:bot",
        session=lane(chat),
        sender=Person(id="ann"),
        address=Address(platform="telegram", chat=chat),
        text=text,
        at=at,
    )


def conversation(chat: str = "1") -> SessionId:
    return SessionId(f"conversation-{chat}")


def reply(chat: str, number: int = 0, text: str = "done") -> Reply:
    return Reply(
        id=ReplyId(f"turn-{chat}/{number}"),
        session=lane(chat),
        address=Address(platform="telegram", chat=chat),
        text=text,
    )


def turn(chat: str) -> TurnId:
    return TurnId(f"turn-{chat}")


@dataclass
class Owner:
    """A node that owns a session and keeps its folded state, as a worker does."""

    store: Store
    fence: Fence
    session: Session

    async def write(self, *events: e.Event, snapshot: bool = False, rests: bool = False) -> int:
        commit = commit_of(self.session, events, snapshot=snapshot, rests=rests)
        head = await self.store.journal.append(commit, fence=self.fence)
        self.session = commit.after
        if head != self.session.position:
            self.session = await self.store.journal.load(self.session.key)
        return head

    async def note(self, value: str) -> int:
        return await self.write(e.FactSet("note", value, 2.0))

    async def rest(self) -> bool:
        position = self.session.position
        return await self.store.journal.rest(self.session.key, position, fence=self.fence)

    async def start(self, chat: str, *, at: float = 2.0) -> int:
        names = tuple(f"{inbound.account}#{inbound.id}" for inbound in self.session.waiting)
        return await self.write(e.TurnStarted(turn(chat), names, self.fence.epoch, at))

    async def finish(self, chat: str, text: str = "done", *, at: float = 3.0) -> int:
        return await self.write(
            e.ModelAnswered(turn=turn(chat), at=at, text=text),
            e.TurnEnded(turn=turn(chat), outcome="answered", at=at, replies=(reply(chat),)),
        )


async def own(store: Store, node: NodeId, chat: str = "1") -> Owner:
    """Claim the lane for the node and load it."""
    [claim] = await store.journal.claim(node, limit=1, only=lane(chat))
    return Owner(store, Fence(node, claim.epoch), await store.journal.load(lane(chat)))


async def begin(store: Store, node: NodeId, chat: str = "1", text: str = "hello") -> Owner:
    """A first message in a lane that the node owns from then on."""
    await store.journal.accept(message(0, chat, text), opens=conversation(chat))
    return await own(store, node, chat)


@contextlib.asynccontextmanager
async def alive(store: Store, node: NodeId, *, seat: str = "") -> AsyncIterator[None]:
    """The node has joined and beats, as in a gateway, for as long as this lasts."""
    await store.nodes.join(node, seat=seat)
    beating = asyncio.create_task(beat(store, node))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)


async def beat(store: Store, node: NodeId) -> None:
    living = True
    while living:
        living = await store.nodes.beat(node)
        await asyncio.sleep(BEAT_S)


async def hits(
    store: Store, question: str, *, scope: Scope = EVERYTHING, limit: int = 100
) -> Sequence[Hit]:
    return (await store.library.search(question, scope=scope, limit=limit)).hits


async def positions(store: Store, chat: str = "1") -> Sequence[str]:
    """The kinds of the lane's events, in order."""
    return [type(event).__name__ for event in await store.library.events(lane(chat))]
