"""One budget per chat: messages first, decoration only when the chat is free (C53)."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.core.errors import ChannelBusy, ChannelRefused
from hermes.core.messages import Address
from hermes.core.store import Store
from hermes.gateway.send_rate import SendRate
from hermes.stores.sqlite import open_sqlite

HERE = Address(platform="p", chat="1")
THERE = Address(platform="p", chat="2")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await open_sqlite(tmp_path / "hermes.db", clock=time.time)
    yield store
    await store.upkeep.close()


def paced(store: Store, pause_s: float = 0.0) -> SendRate:
    return SendRate(outbox=store.outbox, clock=time.time, pauses_s={"p": pause_s})


async def nothing() -> None:
    return None


async def test_c53_messages_of_one_chat_keep_their_distance_and_others_do_not_wait(
    store: Store,
) -> None:
    pace, sent = paced(store, 0.3), list[tuple[str, float]]()

    async def send(address: Address) -> None:
        async with pace.message(address):
            sent.append((address.chat, time.monotonic()))

    await asyncio.gather(send(HERE), send(HERE), send(THERE))
    assert [chat for chat, _ in sent] == ["1", "2", "1"]
    assert sent[2][1] - sent[0][1] >= 0.29


async def test_c53_decoration_is_left_out_while_a_message_wants_to_go(store: Store) -> None:
    pace = paced(store)
    async with pace.message(HERE):
        assert not await pace.spare(HERE, nothing)
        assert await pace.spare(THERE, nothing)
    assert await pace.spare(HERE, nothing)


async def test_c53_what_decoration_spends_is_gone(store: Store) -> None:
    pace = paced(store, 5.0)
    assert await pace.spare(HERE, nothing)
    assert not await pace.spare(HERE, nothing)


async def test_c53_a_pause_that_was_asked_for_holds_after_a_restart(store: Store) -> None:
    pace = paced(store)

    async def flooded() -> None:
        raise ChannelBusy("slow down", delay_s=30.0)

    assert not await pace.spare(HERE, flooded)
    again = paced(store)
    await again.begin()
    assert not await again.spare(HERE, nothing)
    with pytest.raises(ChannelBusy) as busy:
        async with again.message(HERE):
            pass
    assert 25 < busy.value.delay_s <= 30
    async with again.message(THERE):
        pass


async def test_decoration_that_fails_is_no_failure(store: Store) -> None:
    pace = paced(store)

    async def refused() -> None:
        raise ChannelRefused("no")

    assert not await pace.spare(HERE, refused)
    assert await pace.spare(HERE, nothing)
