"""Replies on their way out: pending, sending, delivered; and what a crash in between leaves."""

import asyncio
from collections.abc import Sequence

import msgspec

from hermes.core import events as e
from hermes.core.ids import NodeId, ReplyId
from hermes.core.messages import Address, Reply
from hermes.core.outbox import OutboxRow
from hermes.core.store import Store
from tests.contract.kids import kid
from tests.contract.places import A, B, Place, alive, begin, lane, message, reply, turn
from tests.contract.test_store_processes import LEASE_S, claimed

HERE = ["telegram"]


async def answered(store: Store, node: NodeId, chat: str = "1") -> ReplyId:
    owner = await begin(store, node, chat)
    await owner.start(chat)
    await owner.finish(chat)
    await owner.rest()
    return reply(chat).id


async def due(store: Store, now: float = 10.0, limit: int = 10) -> Sequence[OutboxRow]:
    return await store.outbox.due(HERE, now=now, limit=limit)


async def row(store: Store, chat: str = "1") -> OutboxRow:
    [found] = await store.outbox.rows(lane(chat), limit=10)
    return found


async def test_c50_a_reply_is_due_as_soon_as_its_turn_has_ended(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    assert await due(store) == []
    await owner.finish("1")
    [found] = await due(store)
    assert found == await row(store)
    assert (found.reply, found.state, found.attempts, found.chunks_sent, found.created_at) == (
        reply("1"),
        "pending",
        0,
        0,
        3.0,
    )


async def test_a_fenced_turn_leaves_no_reply(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    await store.journal.release([lane("1")], node=A)
    done = await asyncio.gather(owner.finish("1"), return_exceptions=True)
    assert type(done[0]).__name__ == "Fenced"
    assert await due(store) == []


async def test_only_the_platforms_that_are_asked_for_are_due(store: Store) -> None:
    await store.nodes.join(A)
    await answered(store, A)
    assert await store.outbox.due(["discord"], now=10, limit=5) == []
    assert await store.outbox.due([], now=10, limit=5) == []
    assert len(await store.outbox.due(["discord", "telegram"], now=10, limit=5)) == 1
    assert len(await store.outbox.due(HERE, now=10, limit=5, only=lane("1"))) == 1
    assert await store.outbox.due(HERE, now=10, limit=5, only=lane("2")) == []


async def test_replies_are_due_in_the_order_in_which_they_were_made(store: Store) -> None:
    await store.nodes.join(A)
    for number in range(3):
        owner = await begin(store, A, f"c{number}")
        await owner.start(f"c{number}")
        replies = tuple(reply(f"c{number}", ordinal) for ordinal in range(2))
        await owner.write(e.ModelAnswered(turn=turn(f"c{number}"), at=2.0, text="x"))
        ended = e.TurnEnded(turn=turn(f"c{number}"), outcome="answered", at=2.0, replies=replies)
        await owner.write(ended)
    wanted = [reply(f"c{number}", ordinal).id for number in range(3) for ordinal in range(2)]
    assert [found.reply.id for found in await due(store)] == wanted
    assert [found.reply.id for found in await due(store, limit=3)] == wanted[:3]
    newest_first = await store.outbox.rows(lane("c1"), limit=5)
    assert [found.reply.id for found in newest_first] == [wanted[3], wanted[2]]


async def test_what_is_being_sent_is_in_one_hand(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    name = await answered(store, A)
    taken = await asyncio.gather(
        *(s.outbox.sending(name, node=n) for s, n in ((store, A), (other, B)) * 5)
    )
    assert sum(taken) == 1
    assert await due(store) == []
    assert (await row(store)).state == "sending"


async def test_a_delivered_reply_is_never_due_again(store: Store) -> None:
    await store.nodes.join(A)
    name = await answered(store, A)
    assert await store.outbox.sending(name, node=A)
    await store.outbox.sent_chunks(name, 1)
    await store.outbox.delivered(name, "receipt-7", at=5.0)
    assert await due(store, now=1e12) == []
    assert await store.outbox.sending(name, node=A) is False
    assert (await row(store)).state == "delivered"
    assert (await row(store)).chunks_sent == 1


async def test_a_failed_reply_waits_for_its_time_and_keeps_its_chunks(store: Store) -> None:
    await store.nodes.join(A)
    name = await answered(store, A)
    assert await store.outbox.sending(name, node=A)
    await store.outbox.sent_chunks(name, 2)
    assert await store.outbox.sending(name, node=A, chunk=2)
    await store.outbox.failed(name, "no net", not_before=100.0, abandon=False)
    assert await due(store, now=99.0) == []
    [again] = await due(store, now=100.0)
    assert (again.state, again.attempts, again.chunks_sent) == ("failed", 1, 2)
    assert await store.outbox.sending(name, node=A, chunk=2)
    await store.outbox.failed(name, "a pause", not_before=0.0, abandon=False, counts=False)
    assert (await row(store)).attempts == 1


async def test_c53_a_flood_wait_binds_whoever_had_seen_the_row_before(place: Place) -> None:
    now = [50.0]
    store = await place.open(clock=lambda: now[0])
    other = await place.open(clock=lambda: now[0])
    await store.nodes.join(A)
    await other.nodes.join(B)
    name = await answered(store, A)
    assert len(await due(other)) == 1
    assert await store.outbox.sending(name, node=A)
    await store.outbox.failed(name, "flood wait", not_before=100.0, abandon=False)
    assert await other.outbox.sending(name, node=B) is False
    now[0] = 100.0
    assert await other.outbox.sending(name, node=B) is True


async def test_an_abandoned_reply_is_left_alone(store: Store) -> None:
    await store.nodes.join(A)
    name = await answered(store, A)
    assert await store.outbox.sending(name, node=A)
    await store.outbox.failed(name, "blocked by the person", not_before=0.0, abandon=True)
    assert await due(store, now=1e12) == []
    assert await store.outbox.sending(name, node=A) is False
    assert (await row(store)).state == "abandoned"


async def test_c51_a_reply_whose_sender_was_killed_is_due_again(place: Place) -> None:
    store = await place.open(lease_s=60)
    await store.nodes.join(B)
    async with kid(place.name, lease_s=60) as child:
        await child.ask("join", A)
        await child.ask("begin", A, "1")
        await child.ask("start", "1")
        await child.ask("finish", "1")
        name = reply("1").id
        assert await child.ask("sending", name, A) is True
        assert await due(store) == []
        assert await store.outbox.sending(name, node=B) is False
        await child.kill()
        await claimed(store, B)
    [found] = await due(store)
    assert (found.state, found.attempts) == ("sending", 0), "a kill is no failed attempt"
    assert await store.outbox.sending(name, node=B) is True
    await store.outbox.delivered(name, "r", at=9.0)
    assert await due(store) == []


async def test_c51_a_sender_that_was_stopped_too_long_cannot_send(place: Place) -> None:
    store = await place.open(lease_s=LEASE_S)
    async with kid(place.name, lease_s=LEASE_S) as child, alive(store, B):
        await child.ask("join", A)
        await child.ask("begin", A, "1")
        await child.ask("start", "1")
        await child.ask("finish", "1")
        await child.stop()
        await claimed(store, B)
        child.wake()
        assert await child.ask("sending", reply("1").id, A) is False
    [found] = await due(store)
    assert found.state == "pending"


async def test_the_late_word_of_a_buried_sender_does_not_disturb_the_next(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    name = await answered(store, A)
    assert await store.outbox.sending(name, node=A)
    await store.nodes.leave(A)
    assert await other.outbox.sending(name, node=B) is True
    await store.outbox.failed(name, "I timed out", not_before=0.0, abandon=False)
    assert (await row(other)).state == "sending"
    await other.outbox.delivered(name, "r", at=9.0)
    assert (await row(other)).state == "delivered"


async def test_nobody_can_send_for_a_node_that_never_joined(store: Store) -> None:
    await store.nodes.join(A)
    name = await answered(store, A)
    assert await store.outbox.sending(name, node=B) is False
    assert await store.outbox.sending(ReplyId("none"), node=A) is False


async def test_any_text_can_be_sent(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    odd = "nul \0, tab \t, quote ' \" \\, emoji 🦉, \u202e, lines\r\n"
    address = Address(platform="telegram", chat="1", thread="t", account="telegram:bot")
    made = Reply(id=ReplyId("odd/0"), session=lane("1"), address=address, text=odd, kind="notice")
    name = f"telegram:bot#{message(0).id}"
    await owner.write(e.CommandRun(name, 2.0, (made,)))
    [found] = await due(store)
    assert found.reply == made
    assert await store.outbox.sending(made.id, node=A)
    async with asyncio.timeout(10):
        await store.outbox.failed(made.id, f"{odd} \udce9", not_before=0.0, abandon=False)
        await store.outbox.delivered(made.id, f"{odd} \udce9", at=1.0)
    assert (await row(store)).state == "delivered"


async def test_c51_where_the_chat_ended_is_kept_with_what_is_being_sent(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(A)
    name = await answered(store, A)
    assert (await row(store)).behind == ""
    assert await store.outbox.sending(name, node=A, behind="41")
    await store.outbox.failed(name, "silence", not_before=0.0, abandon=False)
    [again] = await due(store)
    assert (again.behind, again.receipt) == ("41", "")
    assert await store.outbox.sending(name, node=A, behind="52")
    assert (await row(await place.open())).behind == "52"


async def test_c51_a_receipt_belongs_to_one_chat(store: Store) -> None:
    await store.nodes.join(A)
    name = await answered(store, A)
    assert not await store.outbox.has_receipt("telegram", "1", "41")
    assert await store.outbox.sending(name, node=A, behind="41")
    assert not await store.outbox.has_receipt("telegram", "1", "41"), "that was another's"
    await store.outbox.delivered(name, "42", at=5.0)
    assert await store.outbox.has_receipt("telegram", "1", "42")
    assert not await store.outbox.has_receipt("telegram", "2", "42")
    assert not await store.outbox.has_receipt("discord", "1", "42")


async def test_c51_between_two_chunks_nothing_is_in_doubt(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    name = await answered(store, A)
    assert await store.outbox.sending(name, node=A)
    await store.outbox.failed(name, "it may have arrived", not_before=0.0, abandon=False)
    assert await store.outbox.sending(name, node=A)
    await store.outbox.sent_chunks(name, 1, receipt="41")
    found = await row(store)
    assert (found.state, found.chunks_sent, found.problem) == ("pending", 1, "")
    assert await other.outbox.sending(name, node=B) is False, "the first chunk was sent"
    assert await other.outbox.sending(name, node=B, chunk=1) is True


async def test_c51_a_send_whose_task_died_is_due_again_for_its_own_node(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    name = await answered(store, A)
    assert await store.outbox.sending(name, node=A)
    assert await other.outbox.due(HERE, now=10.0, limit=5, mine=B) == []
    [left] = await store.outbox.due(HERE, now=10.0, limit=5, mine=A)
    assert left.state == "sending"
    assert await store.outbox.sending(name, node=A) is False, "it was not seen as left over"
    assert await other.outbox.sending(name, node=B, mine=True) is False
    assert await store.outbox.sending(name, node=A, mine=True) is True


async def three(store: Store) -> list[ReplyId]:
    """Three replies of one session to one chat."""
    owner = await begin(store, A)
    await owner.start("1")
    replies = tuple(reply("1", ordinal) for ordinal in range(3))
    await owner.write(e.ModelAnswered(turn=turn("1"), at=2.0, text="x"))
    await owner.write(e.TurnEnded(turn=turn("1"), outcome="answered", at=2.0, replies=replies))
    return [each.id for each in replies]


async def test_c51_nothing_of_a_session_is_due_while_an_earlier_reply_of_it_waits(
    store: Store,
) -> None:
    await store.nodes.join(A)
    first, second, third = await three(store)
    other = await answered(store, A, "2")
    assert [r.reply.id for r in await due(store)] == [first, second, third, other]
    assert await store.outbox.sending(first, node=A)
    assert [r.reply.id for r in await due(store)] == [other], "the first is on its way"
    await store.outbox.failed(first, "no net", not_before=100.0, abandon=False)
    assert [r.reply.id for r in await due(store)] == [other]
    assert [r.reply.id for r in await due(store, now=100.0)] == [first, second, third, other]
    await store.outbox.at_once(["discord"])
    assert [r.reply.id for r in await due(store)] == [other]
    await store.outbox.at_once(HERE)
    assert [r.reply.id for r in await due(store)] == [first, second, third, other]
    assert await store.outbox.sending(first, node=A)
    await store.outbox.failed(first, "blocked", not_before=0.0, abandon=True)
    assert [r.reply.id for r in await due(store)] == [second, third, other]


async def test_c54_a_removed_draft_waits_behind_no_message_and_holds_none_up(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    message, later = reply("1"), reply("1", 2)
    gone = Reply(
        id=ReplyId("gone"), session=lane("1"), address=message.address, text="", kind="removal"
    )
    await owner.write(e.ModelAnswered(turn=turn("1"), at=2.0, text="x"))
    replies = (message, gone, later)
    await owner.write(e.TurnEnded(turn=turn("1"), outcome="answered", at=2.0, replies=replies))
    assert await store.outbox.sending(message.id, node=A)
    await store.outbox.failed(message.id, "no net", not_before=100.0, abandon=False)
    assert [r.reply.id for r in await due(store)] == [gone.id]
    await store.outbox.at_once(HERE)
    assert await store.outbox.sending(gone.id, node=A)
    assert [r.reply.id for r in await due(store)] == [message.id, later.id]


async def test_p6_a_card_is_found_by_its_chat_in_whatever_state(store: Store) -> None:
    """A button's words stand in the outbox row of its card, for any node and after any restart."""
    await store.nodes.join(A)
    for chat in ("1", "2"):
        owner = await begin(store, A, chat)
        await owner.start(chat)
        asked = msgspec.structs.replace(reply(chat), buttons=(("Yes", f"/yes {chat}"),))
        await owner.write(e.TurnEnded(turn(chat), "answered", 3.0, (asked,)))
    [card] = await store.outbox.cards("telegram", "1", limit=10)
    assert card.buttons == (("Yes", "/yes 1"),)
    assert await store.outbox.sending(card.id, node=A)
    assert await store.outbox.cards("telegram", "1", limit=10) == [card]
    await store.outbox.delivered(card.id, "9", at=4.0)
    assert await store.outbox.cards("telegram", "1", limit=10) == [card]
    assert await store.outbox.cards("discord", "1", limit=10) == []
