"""What a gateway asks of a store beside the journal: commits that rest, boots, holds."""

import asyncio
import time
from collections.abc import Sequence

import pytest

from hermes.core import events as e
from hermes.core.fold import fold_all
from hermes.core.ids import NodeId, SessionId
from hermes.core.projection import commit_of
from hermes.core.session import Session
from hermes.core.store import Boot, Fence, Store
from tests.contract.kids import kid
from tests.contract.places import (
    A,
    B,
    Owner,
    Place,
    alive,
    begin,
    conversation,
    lane,
    message,
    reply,
    turn,
)

SEAT = "home on machine"
SOON_S = 90.0
POLL_S = 0.05
LEASE_S = 2.0
DAY_S = 86_400.0


# ── a commit after which nothing is left to do ──────────────────────────────────────────────────


async def test_a_commit_that_rests_leaves_nothing_to_do(store: Store) -> None:
    await store.nodes.join(A)
    await store.nodes.join(B)
    owner = await begin(store, A)
    await owner.start("1")
    assert [claim.key for claim in await store.journal.owned(A, limit=5)] == [lane("1")]
    await finish(owner, rests=True)
    assert await store.journal.owned(A, limit=5) == []
    assert await owner.rest(), "a rest that was already written is one"
    await store.journal.release([lane("1")], node=A)
    assert await store.journal.claim(B, limit=5) == []
    assert await store.upkeep.check() == []


async def test_a_message_that_slips_in_keeps_a_session_awake(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    commit = commit_of(owner.session, ended("1"), rests=True, snapshot=True)
    await store.journal.accept(message(1), opens=conversation())
    head = await store.journal.append(commit, fence=owner.fence)
    assert head == commit.after.position + 1
    assert [claim.key for claim in await store.journal.owned(A, limit=5)] == [lane("1")]
    session = await store.journal.load(lane("1"))
    assert session == fold_all(Session(key=lane("1")), await store.journal.since(lane("1"), 0))
    assert await store.upkeep.check() == []


async def test_a_session_that_rests_wakes_with_the_next_event(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.write(e.FactSet("note", "1", 2.0), rests=True)
    await owner.write(e.FactSet("note", "2", 2.0), rests=True)
    assert await store.journal.owned(A, limit=5) == []
    await owner.note("3")
    assert len(await store.journal.owned(A, limit=5)) == 1
    await owner.write(e.FactSet("note", "4", 2.0), rests=True)
    assert await store.journal.owned(A, limit=5) == []
    await store.journal.accept(message(1), opens=conversation())
    assert len(await store.journal.owned(A, limit=5)) == 1
    assert await store.upkeep.check() == []


async def test_many_commits_at_once_rest_each_for_itself(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    owners = [await begin(store, A, f"c{number}") for number in range(12)]
    await asyncio.gather(
        *(
            owner.write(e.FactSet("note", "x", 2.0), rests=number % 3 != 0)
            for number, owner in enumerate(owners)
        ),
        *(
            other.journal.accept(message(1, f"c{number}"), opens=conversation(f"c{number}"))
            for number in (1, 4)
        ),
    )
    busy = {claim.key for claim in await store.journal.owned(A, limit=50)}
    assert busy == {lane(f"c{number}") for number in (0, 3, 6, 9, 1, 4)}
    assert await store.upkeep.check() == []


def ended(chat: str) -> Sequence[e.Event]:
    return (
        e.ModelAnswered(turn=turn(chat), at=3.0, text="done"),
        e.TurnEnded(turn=turn(chat), outcome="answered", at=3.0, replies=(reply(chat),)),
    )


async def finish(owner: Owner, chat: str = "1", *, rests: bool = False) -> None:
    await owner.write(*ended(chat), rests=rests)


# ── boots of a gateway ──────────────────────────────────────────────────────────────────────────


async def test_c15_boots_say_how_each_process_ended(place: Place) -> None:
    now = [1_000.0]
    store = await place.open(clock=lambda: now[0])
    await store.nodes.join(NodeId("first"), seat=SEAT)
    await store.nodes.leave(NodeId("first"))
    async with kid(place.name, lease_s=60) as child:
        await child.ask("join", "second", SEAT)
        await child.kill()
    now[0] = 2_000.0
    await store.nodes.join(A, seat=SEAT)
    await store.nodes.join(B)
    boots = await settled(store)
    assert [(boot.node, boot.state) for boot in boots] == [
        (A, "alive"),
        ("second", "died"),
        ("first", "left"),
    ]
    assert (boots[0].started_at, boots[2].started_at) == (2_000.0, 1_000.0)
    assert [boot.node for boot in await store.nodes.boots(SEAT, limit=2)] == [A, "second"]


async def settled(store: Store) -> Sequence[Boot]:
    """The boots, once whoever was killed is known to be dead."""
    deadline = time.monotonic() + SOON_S
    while time.monotonic() < deadline:
        await store.nodes.beat(A)
        boots = await store.nodes.boots(SEAT, limit=9)
        if [boot.state for boot in boots].count("alive") == 1:
            return boots
        await asyncio.sleep(POLL_S)
    pytest.fail("the dead were not buried")


async def test_boots_of_another_gateway_are_not_listed(store: Store) -> None:
    await store.nodes.join(A, seat=SEAT)
    await store.nodes.join(B, seat="another home")
    assert [boot.node for boot in await store.nodes.boots(SEAT, limit=9)] == [A]
    assert await store.nodes.boots("nobody's", limit=9) == []


async def test_c15_a_chat_is_no_boot(store: Store) -> None:
    await store.nodes.join(A)
    await store.nodes.leave(A)
    assert await store.nodes.boots("", limit=9) == []


async def test_boots_stand_in_the_order_of_joining_whatever_the_clock(place: Place) -> None:
    now = [10 * DAY_S]
    store = await place.open(clock=lambda: now[0])
    for name in ("one", "two", "three"):
        await store.nodes.join(NodeId(name), seat=SEAT)
        await store.nodes.leave(NodeId(name))
        now[0] -= DAY_S
    boots = await store.nodes.boots(SEAT, limit=9)
    assert [boot.node for boot in boots] == ["three", "two", "one"]


async def test_c15_old_boots_are_kept_while_chats_come_and_go(place: Place) -> None:
    now = [1_000.0]
    store = await place.open(clock=lambda: now[0])
    for number in range(4):
        await store.nodes.join(NodeId(f"gateway-{number}"), seat=SEAT)
        await store.nodes.leave(NodeId(f"gateway-{number}"))
    for number in range(20):
        now[0] += DAY_S
        await store.nodes.join(NodeId(f"chat-{number}"))
        await store.nodes.leave(NodeId(f"chat-{number}"))
    await store.nodes.join(A, seat=SEAT)
    boots = await store.nodes.boots(SEAT, limit=9)
    names = [A, *(f"gateway-{number}" for number in (3, 2, 1, 0))]
    assert [boot.node for boot in boots] == names


async def test_a_node_that_was_taken_for_dead_did_not_leave(place: Place) -> None:
    store = await place.open(lease_s=LEASE_S)
    async with kid(place.name, lease_s=LEASE_S) as child, alive(store, A, seat=SEAT):
        await child.ask("join", B, SEAT)
        await child.stop()
        await settled(store)
        child.wake()
        await child.ask("leave", B)
        boots = await store.nodes.boots(SEAT, limit=9)
    assert [(boot.node, boot.state) for boot in boots] == [(B, "died"), (A, "alive")]


# ── what only one may have ──────────────────────────────────────────────────────────────────────


async def test_one_living_node_holds_a_connection(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    assert await store.nodes.hold(A, "telegram:bot") is True
    assert await other.nodes.hold(B, "telegram:bot") is False
    assert await store.nodes.hold(A, "telegram:bot") is True, "it keeps what it has"
    assert await other.nodes.hold(B, "another:bot") is True
    assert await store.nodes.hold(A, "another:bot") is False


async def test_many_that_want_the_same_get_it_once(place: Place) -> None:
    stores = [await place.open(), await place.open()]
    nodes = [NodeId(f"node-{number}") for number in range(8)]
    for number, node in enumerate(nodes):
        await stores[number % 2].nodes.join(node)
    taken = await asyncio.gather(
        *(stores[number % 2].nodes.hold(node, "bot") for number, node in enumerate(nodes))
    )
    assert sum(taken) == 1


async def test_a_connection_is_free_when_its_holder_leaves(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    assert await store.nodes.hold(A, "bot")
    await store.nodes.leave(A)
    assert await other.nodes.hold(B, "bot") is True
    assert await store.nodes.hold(A, "bot") is False, "it has left"


async def test_c62_a_connection_is_free_when_its_holder_is_killed(place: Place) -> None:
    store = await place.open(lease_s=60)
    await store.nodes.join(B)
    async with kid(place.name, lease_s=60) as child:
        await child.ask("join", A)
        assert await child.ask("hold", A, "bot") is True
        assert await store.nodes.hold(B, "bot") is False
        await child.kill()
        await held(store, B, "bot")


async def test_c62_a_holder_that_was_stopped_has_lost_its_connection(place: Place) -> None:
    store = await place.open(lease_s=LEASE_S)
    async with kid(place.name, lease_s=LEASE_S) as child, alive(store, B):
        await child.ask("join", A)
        assert await child.ask("hold", A, "bot") is True
        await child.stop()
        await held(store, B, "bot")
        child.wake()
        assert await child.ask("hold", A, "bot") is False
        assert await child.ask("hold", A, "another") is False, "it is buried"
        assert await store.nodes.hold(B, "bot") is True


async def test_who_never_joined_holds_nothing(store: Store) -> None:
    assert await store.nodes.hold(NodeId("nobody"), "bot") is False
    await store.nodes.join(A)
    assert await store.nodes.hold(A, "bot") is True


async def held(store: Store, node: NodeId, name: str) -> None:
    deadline = time.monotonic() + SOON_S
    while not await store.nodes.hold(node, name):
        assert time.monotonic() < deadline, "it did not come free"
        await asyncio.sleep(POLL_S)


async def test_c15_a_session_that_a_node_declines_is_free_for_others_and_not_for_itself(
    place: Place,
) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    await store.journal.accept(message(0), opens=SessionId("s"))
    [claim] = await store.journal.claim(A, limit=5)
    fence = Fence(A, claim.epoch)
    assert await store.journal.decline(claim.key, 0, fence=fence) is False, "more has arrived"
    assert await store.journal.decline(claim.key, 1, fence=fence) is True
    assert await store.journal.claim(A, limit=5) == []
    assert await store.journal.owned(A, limit=5) == []
    [theirs] = await other.journal.claim(B, limit=5)
    assert theirs.epoch > claim.epoch


async def test_c15_a_declined_session_is_taken_again_when_something_new_arrives(
    store: Store,
) -> None:
    await store.nodes.join(A)
    await store.journal.accept(message(0), opens=SessionId("s"))
    [claim] = await store.journal.claim(A, limit=5)
    assert await store.journal.decline(claim.key, 1, fence=Fence(A, claim.epoch))
    await store.journal.accept(message(1), opens=SessionId("s"))
    assert len(await store.journal.claim(A, limit=5)) == 1
