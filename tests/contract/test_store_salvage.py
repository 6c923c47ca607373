"""A session with an event that cannot be read: told apart, left by a command, and never in the way.

The event is damaged from outside, as a disk, another version or somebody's hand would.
"""

import pytest

from hermes.core import events as e
from hermes.core.errors import Fenced, RowUnreadable
from hermes.core.ids import SessionId
from hermes.core.session import Idle
from hermes.core.store import Fence, Store
from tests.contract.places import A, B, Owner, Place, begin, conversation, lane, message, own
from tests.contract.surgery import run

BROKEN = b'{"type":"turn_marked.1","turn":"turn-1","why":"shutdown_timeout","at":"soon"}'


def damage(place: str, position: int) -> None:
    """The event at this position of the one lane there is a mark whose time is text."""
    if place.startswith("postgresql:"):
        value = f"'\\x{BROKEN.hex()}'::bytea"
        run(place, f"update hermes.journal set event = {value} where position = {position}")  # noqa: S608
    else:
        run(place, f"UPDATE journal SET event = x'{BROKEN.hex()}' WHERE position = {position}")  # noqa: S608


async def damaged(place: Place) -> Store:
    """A turn runs, somebody is asked, and then its mark cannot be read."""
    store = await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    await owner.write(e.TurnMarked(owner.session.turn.id, "shutdown_timeout", 3.0))  # type: ignore[union-attr]
    damage(place.name, owner.session.position)
    return store


async def left(store: Store, text: str = "/new") -> Owner:
    await store.journal.accept(message(9, text=text, at=9.0), opens=SessionId("fresh"))
    return await own(store, A)


async def test_what_cannot_be_read_is_an_error_of_its_own(place: Place) -> None:
    store = await damaged(place)
    with pytest.raises(RowUnreadable):
        await store.journal.load(lane("1"))
    await store.journal.accept(message(5, text="still there?"), opens=conversation("5"))
    with pytest.raises(RowUnreadable):
        await store.journal.load(lane("1"))
    assert len(await store.library.records(lane("1"), after=0, limit=9)) == 4, (
        "what is stored can be had"
    )


@pytest.mark.parametrize("text", ["/new", "/reset@bot please", "/suspend"])
async def test_a_message_that_leaves_the_conversation_begins_another_one(
    place: Place, text: str
) -> None:
    store = await damaged(place)
    await store.journal.accept(message(5, text="still there?"), opens=conversation("5"))
    owner = await left(store, text)
    session = owner.session
    assert (session.id, session.salvaged, session.position) == ("fresh", True, 5)
    assert isinstance(session.phase, Idle)
    assert [inbound.text for inbound in session.waiting] == [text]
    await store.journal.accept(message(10, text="hello again"), opens=conversation("10"))
    again = await store.journal.load(lane("1"))
    assert (again.id, again.salvaged, len(again.waiting)) == ("fresh", True, 2)


async def test_what_was_open_is_over_and_counted_right(place: Place) -> None:
    store = await damaged(place)
    await store.journal.accept(message(5, text="still there?"), opens=conversation("5"))
    owner = await left(store)
    await store.journal.abandon(owner.session, fence=owner.fence)
    counts = await store.library.counts()
    assert (counts.running, counts.queued, dict(counts.marks)) == (0, 1, {})
    [turn] = await store.library.turns(limit=5)
    assert turn.state == "failed"
    name = f"{owner.session.waiting[0].account}#{owner.session.waiting[0].id}"
    await owner.write(e.SessionReset(SessionId("next"), "you asked", 9.5))
    await owner.write(e.CommandRun(name, 9.5))
    assert owner.session.salvaged is False
    row = await store.library.find(lane("1"))
    assert row is not None
    assert (row.id, row.phase, row.waiting) == ("next", "idle", 0)
    assert await store.journal.load(lane("1")) == owner.session
    assert await store.upkeep.check() == []


async def test_only_its_owner_puts_it_in_order(place: Place) -> None:
    store = await damaged(place)
    owner = await left(store)
    with pytest.raises(Fenced):
        await store.journal.abandon(owner.session, fence=Fence(B, owner.fence.epoch))


async def test_a_rebuild_goes_as_far_as_it_reads_and_holds_up_no_other(place: Place) -> None:
    store = await damaged(place)
    other = await begin(store, A, "2")
    await other.start("2")
    await other.finish("2")
    await store.library.rebuild()
    assert await store.journal.load(lane("2")) == other.session
    with pytest.raises(RowUnreadable):
        await store.journal.load(lane("1"))
    owner = await left(store)
    await store.journal.abandon(owner.session, fence=owner.fence)
    before = await store.library.counts()
    await store.library.rebuild()
    assert await store.library.counts() == before
    states = {turn.id: turn.state for turn in await store.library.turns(limit=5)}
    assert states == {"turn-1": "failed", "turn-2": "answered"}
    assert await store.upkeep.check() == []


async def test_one_that_rests_can_be_deleted(place: Place) -> None:
    store = await damaged(place)
    [claim] = await store.journal.claim(A, limit=1, only=lane("1"))
    assert await store.journal.rest(lane("1"), 3, fence=Fence(A, claim.epoch))
    assert await store.library.delete(lane("1"))
    assert await store.library.find(lane("1")) is None
