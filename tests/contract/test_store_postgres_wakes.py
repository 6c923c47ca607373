"""Processes on one PostgreSQL that wake one another: whom it concerns, and not more than needed."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest

from hermes.core.ids import NodeId
from hermes.core.store import Store
from hermes.stores.postgres.listener import GAP_S
from tests.contract.places import A, B, PostgresPlace, begin, conversation, lane, message

SOON_S = 90.0
AT_ONCE_S = 2.0
QUIET_S = 0.4
SESSIONS = 64


@pytest.fixture
async def base(database: str) -> AsyncIterator[PostgresPlace]:
    place = PostgresPlace(database)
    yield place
    await place.close()


@contextlib.asynccontextmanager
async def heard(place: PostgresPlace) -> AsyncIterator[list[str]]:
    """Every word that processes tell one another meanwhile."""
    words: list[str] = []
    connection = await psycopg.AsyncConnection.connect(place.name, autocommit=True)
    await connection.execute("listen hermes")

    async def listen() -> None:
        async for note in connection.notifies():
            words.extend((note.payload,))

    task = asyncio.create_task(listen())
    try:
        yield words
        await asyncio.sleep(QUIET_S)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connection.close()


async def gateways(base: PostgresPlace) -> tuple[Store, Store]:
    """One that sends to Telegram, one that does not."""
    sender, worker = await base.open(), await base.open()
    await sender.nodes.join(A, seat="one")
    await worker.nodes.join(B, seat="two")
    await sender.outbox.due(["telegram"], now=1.0, limit=1)
    await worker.outbox.due(["discord"], now=1.0, limit=1)
    return sender, worker


async def calm(store: Store) -> None:
    """Nothing rings any more."""
    lasted_s = 0.0
    while lasted_s < QUIET_S:
        began = time.monotonic()
        await store.nodes.wake(QUIET_S + 0.1)
        lasted_s = time.monotonic() - began


async def woken(store: Store, act: Callable[[], Awaitable[object]]) -> None:
    await calm(store)
    waiting = asyncio.create_task(store.nodes.wake(SOON_S))
    await asyncio.sleep(0)
    await act()
    async with asyncio.timeout(AT_ONCE_S):
        await waiting


async def test_a_reply_wakes_the_gateway_that_has_its_channel(base: PostgresPlace) -> None:
    sender, worker = await gateways(base)
    owner = await begin(worker, B)
    await owner.start("1")
    await woken(sender, lambda: owner.finish("1"))
    assert len(await sender.outbox.due(["telegram"], now=9.0, limit=5)) == 1


async def test_a_gateway_that_sends_its_own_replies_tells_nobody(base: PostgresPlace) -> None:
    sender, _ = await gateways(base)
    owner = await begin(sender, A)
    await owner.start("1")
    async with heard(base) as words:
        await owner.finish("1")
        await owner.rest()
    assert words == []


async def test_replies_of_many_sessions_are_told_once_a_batch(base: PostgresPlace) -> None:
    _, worker = await gateways(base)
    owners = [await begin(worker, B, f"c{number}") for number in range(SESSIONS)]
    await asyncio.gather(*(owner.start(f"c{n}") for n, owner in enumerate(owners)))
    async with heard(base) as words:
        await asyncio.gather(*(owner.finish(f"c{n}") for n, owner in enumerate(owners)))
    assert set(words) == {">telegram"}
    assert len(words) <= SESSIONS // 8


async def test_whoever_is_told_all_the_time_looks_now_and_then(base: PostgresPlace) -> None:
    sender, worker = await gateways(base)
    looks = 0
    await calm(sender)
    async with heard(base) as words:
        began = time.monotonic()
        writing = asyncio.create_task(chatter(worker))
        while not writing.done():
            await sender.nodes.wake(0.5)
            looks += 1
        lasted_s = time.monotonic() - began
    assert len(words) > 50
    assert looks <= lasted_s / GAP_S + 2


async def chatter(store: Store) -> None:
    for chat in map(str, range(100)):
        await store.journal.accept(message(0, chat), opens=conversation(chat))


async def test_a_message_for_a_lane_of_a_dead_owner_wakes_whoever_is_alive(
    base: PostgresPlace,
) -> None:
    store, other, door = await base.open(), await base.open(), await base.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    owner = await begin(store, A)
    assert await owner.rest()
    await store.nodes.leave(A)
    await woken(other, lambda: door.journal.accept(message(1), opens=conversation()))
    assert [claim.key for claim in await other.journal.claim(B, limit=5)] == [lane("1")]


async def test_a_chat_is_woken_by_the_answer_of_a_gateway(base: PostgresPlace) -> None:
    sender, _ = await gateways(base)
    chat = await base.open()
    await chat.nodes.join(NodeId("chat"))
    owner = await begin(sender, A)
    await owner.start("1")
    await woken(chat, lambda: owner.finish("1"))
