"""Chats that want nothing for a while, and what a reply's row knows of its way."""

import time
from collections.abc import Sequence

from hermes.core import events as e
from hermes.core.ids import ReplyId
from hermes.core.messages import Address, Reply
from hermes.core.outbox import OutboxRow
from hermes.core.store import Store
from tests.contract.places import A, B, Place, begin, lane, message, own, reply

DAY_S = 86_400.0
HERE = ["telegram"]


async def answered(store: Store, chat: str) -> ReplyId:
    owner = await begin(store, A, chat)
    await owner.start(chat)
    await owner.finish(chat)
    await owner.rest()
    return reply(chat).id


async def due(store: Store, now: float) -> Sequence[str]:
    found = await store.outbox.due(HERE, now=now, limit=10)
    return [row.reply.address.chat for row in found]


async def test_c53_a_paused_chat_is_left_out_until_its_time(place: Place) -> None:
    now = [50.0]
    store = await place.open(clock=lambda: now[0])
    await store.nodes.join(A)
    for chat in ("x", "y"):
        await answered(store, chat)
    await store.outbox.pause("telegram", "x", until=100.0)
    await store.outbox.pause("discord", "y", until=100.0)
    assert await due(store, 50.0) == ["y"]
    assert await store.outbox.due(HERE, now=50.0, limit=9, only=lane("x")) == []
    assert await store.outbox.waits(now=50.0) == {
        ("telegram", "x"): 100.0,
        ("discord", "y"): 100.0,
    }
    assert await due(store, 100.0) == ["x", "y"]
    assert await store.outbox.waits(now=100.0) == {}


async def test_c53_a_pause_survives_a_restart_and_binds_others(place: Place) -> None:
    now = [50.0]
    store = await place.open(clock=lambda: now[0])
    await store.nodes.join(A)
    name = await answered(store, "x")
    await store.outbox.pause("telegram", "x", until=100.0)
    await place.close()
    store = await place.open(clock=lambda: now[0])
    other = await place.open(clock=lambda: now[0])
    await other.nodes.join(B)
    assert await due(store, 50.0) == []
    assert await store.outbox.waits(now=50.0) == {("telegram", "x"): 100.0}
    assert await other.outbox.sending(name, node=B) is False, "it had seen the row before"
    now[0] = 100.0
    assert await other.outbox.sending(name, node=B) is True


async def test_c53_the_longer_of_two_pauses_counts(place: Place) -> None:
    now = [50.0]
    store = await place.open(clock=lambda: now[0])
    await store.outbox.pause("telegram", "x", until=100.0)
    await store.outbox.pause("telegram", "x", until=80.0)
    assert await store.outbox.waits(now=50.0) == {("telegram", "x"): 100.0}
    await store.outbox.pause("telegram", "x", until=120.0)
    assert await store.outbox.waits(now=50.0) == {("telegram", "x"): 120.0}
    now[0] = 130.0
    await store.outbox.pause("telegram", "x", until=140.0)
    assert await store.outbox.waits(now=130.0) == {("telegram", "x"): 140.0}


async def test_a_clock_that_is_set_back_silences_no_chat_for_days(place: Place) -> None:
    now = [10 * DAY_S]
    store = await place.open(clock=lambda: now[0])
    await store.nodes.join(A)
    name = await answered(store, "x")
    await store.outbox.pause("telegram", "x", until=now[0] + 60)
    assert await due(store, now[0]) == []
    now[0] -= 5 * DAY_S
    assert await due(store, now[0]) == ["x"]
    assert await store.outbox.waits(now=now[0]) == {}
    await store.outbox.pause("telegram", "x", until=now[0] + 30)
    assert await store.outbox.waits(now=now[0]) == {("telegram", "x"): now[0] + 30}
    now[0] += 30
    assert await store.outbox.sending(name, node=A) is True


async def test_any_name_of_a_chat_can_be_paused(store: Store) -> None:
    odd = "quote ' \" \\ 🦉 %s"
    until = time.time() + 60
    await store.outbox.pause("telegram", odd, until=until)
    assert await store.outbox.waits(now=time.time()) == {("telegram", odd): until}


# ── receipts ────────────────────────────────────────────────────────────────────────────────────


async def row(store: Store, chat: str = "1") -> OutboxRow:
    [found] = await store.outbox.rows(lane(chat), limit=10)
    return found


async def test_a_row_knows_the_receipt_of_its_last_chunk(store: Store) -> None:
    await store.nodes.join(A)
    name = await answered(store, "1")
    assert ((await row(store)).receipt, (await row(store)).problem) == ("", "")
    assert await store.outbox.sending(name, node=A)
    await store.outbox.sent_chunks(name, 1, receipt="m-1")
    assert ((await row(store)).chunks_sent, (await row(store)).receipt) == (1, "m-1")
    await store.outbox.sent_chunks(name, 2)
    assert ((await row(store)).chunks_sent, (await row(store)).receipt) == (2, "m-1")
    await store.outbox.failed(name, "blocked", not_before=0.0, abandon=False)
    [again] = await store.outbox.due(HERE, now=10.0, limit=5)
    assert (again.state, again.receipt, again.problem) == ("failed", "m-1", "blocked")
    assert await store.outbox.sending(name, node=A, chunk=2)
    assert (await row(store)).problem == "blocked"
    await store.outbox.delivered(name, "m-3", at=9.0)
    done = await row(store)
    assert (done.state, done.receipt, done.problem) == ("delivered", "m-3", "")


async def test_a_late_receipt_of_another_sender_is_not_written(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    name = await answered(store, "1")
    assert await store.outbox.sending(name, node=A)
    await store.nodes.leave(A)
    assert await other.outbox.sending(name, node=B)
    await store.outbox.sent_chunks(name, 5, receipt="late")
    assert ((await row(other)).chunks_sent, (await row(other)).receipt) == (0, "")


async def test_replies_of_one_session_to_two_chats_wait_apart(place: Place) -> None:
    """A session may send elsewhere than where it was asked."""
    store = await place.open(clock=lambda: 50.0)
    await store.nodes.join(A)
    owner = await begin(store, A)
    elsewhere = Address(platform="telegram", chat="2")
    sent = (
        reply("1"),
        Reply(id=ReplyId("odd/1"), session=lane("1"), address=elsewhere, text="there"),
    )
    await owner.write(e.CommandRun(f"telegram:bot#{message(0).id}", 2.0, sent))
    await store.outbox.pause("telegram", "1", until=100.0)
    assert await due(store, 50.0) == ["2"]
    assert (await own(store, A)).session.waiting == ()
