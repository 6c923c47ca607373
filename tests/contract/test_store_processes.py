"""Real processes on one store: killed, stopped past their lease, woken up again (C62)."""

import asyncio
import time

import pytest

from hermes.core import events as e
from hermes.core.fold import fold_all
from hermes.core.ids import NodeId
from hermes.core.session import Session
from hermes.core.store import Claim, Store
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
    own,
    positions,
)

LEASE_S = 2.0  # short enough to wait for, long enough for a machine that is busy with other tests
SOON_S = 90.0
POLL_S = 0.05


async def claimed(store: Store, node: NodeId) -> list[Claim]:
    """Claim as a gateway does, until something is there."""
    deadline = time.monotonic() + SOON_S
    while time.monotonic() < deadline:
        if claims := await store.journal.claim(node, limit=5):
            return list(claims)
        await asyncio.sleep(POLL_S)
    pytest.fail("nothing could be claimed")


async def notes(store: Store, chat: str = "1") -> list[str]:
    events = await store.journal.since(lane(chat), 0)
    return [event.value for event in events if isinstance(event, e.FactSet)]


async def test_c62_a_killed_process_is_taken_over_at_once(place: Place) -> None:
    store = await place.open(lease_s=60)
    await store.nodes.join(B)
    async with kid(place.name, lease_s=60) as child:
        await child.ask("join", A)
        epoch = await child.ask("begin", A, "1")
        assert await store.journal.claim(B, limit=5) == []
        await child.kill()
        killed_at = time.monotonic()
        [claim] = await claimed(store, B)
        assert time.monotonic() - killed_at < SOON_S
        assert claim.key == lane("1")
        assert claim.epoch > epoch


async def test_c62_a_stopped_process_loses_its_lane_and_writes_nothing_when_it_wakes(
    place: Place,
) -> None:
    store = await place.open(lease_s=LEASE_S)
    async with kid(place.name, lease_s=LEASE_S) as child, alive(store, B):
        await child.ask("join", A)
        await child.ask("begin", A, "1")
        assert await child.ask("note", "1", "before") == 2
        await child.stop()
        [claim] = await claimed(store, B)
        owner = await own(store, B)
        assert owner.fence.epoch == claim.epoch
        await owner.note("mine now")
        child.wake()
        assert (await child.ask("note", "1", "after"))[:2] == ["error", "Fenced"]
        assert (await child.ask("rest", "1"))[:2] == ["error", "Fenced"]
        assert await child.ask("beat", A) is False
        assert (await child.ask("own", A, "1"))[:2] == ["error", "Fenced"]
        assert await notes(store) == ["before", "mine now"]
        await owner.note("still mine")
    assert await store.upkeep.check() == []


async def test_c62_a_node_that_beats_keeps_its_lane_past_the_lease_time(place: Place) -> None:
    store, other = await place.open(lease_s=LEASE_S), await place.open(lease_s=LEASE_S)
    await store.nodes.join(A)
    await other.nodes.join(B)
    owner = await begin(store, A)
    deadline = time.monotonic() + 1.5 * LEASE_S
    while time.monotonic() < deadline:
        assert await store.nodes.beat(A)
        assert await other.nodes.beat(B)
        assert await other.journal.claim(B, limit=5) == []
        await asyncio.sleep(POLL_S)
    assert await owner.note("still mine") == 2


async def test_a_lease_that_lapsed_unseen_is_simply_renewed(place: Place) -> None:
    """A closed lid, a single process: nobody was there to take anything over."""
    async with kid(place.name, lease_s=0.2) as child:
        await child.ask("join", A)
        await child.ask("begin", A, "1")
        await child.stop()
        await asyncio.sleep(0.5)
        child.wake()
        assert await child.ask("note", "1", "awake") == 2
        assert await child.ask("beat", A) is True


@pytest.mark.parametrize("days", [3, -3])
async def test_c62_a_clock_that_jumps_makes_no_second_owner(place: Place, days: int) -> None:
    now = [1_000_000.0]
    first = await place.open(clock=lambda: now[0])
    second = await place.open(clock=lambda: now[0])
    await first.nodes.join(A)
    await second.nodes.join(B)
    owner = await begin(first, A)
    now[0] += days * 86_400
    for number in range(3):
        assert await second.nodes.beat(B)
        assert await second.journal.claim(B, limit=5) == []
        assert await first.nodes.beat(A)
        await owner.note(f"{number}")
    assert await notes(first) == ["0", "1", "2"]


@pytest.mark.parametrize("days", [3, -3])
async def test_c62_a_node_whose_clock_is_days_off_shares_the_work(place: Place, days: int) -> None:
    right = await place.open()
    wrong = await place.open(clock=lambda: time.time() + days * 86_400)
    await right.nodes.join(A)
    await wrong.nodes.join(B)
    mine, theirs = await begin(right, A, "x"), await begin(wrong, B, "y")
    for _ in range(3):
        assert await right.nodes.beat(A)
        assert await wrong.nodes.beat(B)
        assert await right.journal.claim(A, limit=5) == []
        assert await wrong.journal.claim(B, limit=5) == []
    await mine.note("right")
    await theirs.note("wrong")


async def test_a_message_from_another_process_wakes_the_owner(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)
    assert await owner.rest()
    async with kid(place.name, lease_s=60) as child:
        await store.nodes.wake(0.05)
        waiting = asyncio.create_task(store.nodes.wake(SOON_S))
        await asyncio.sleep(0.2)
        await child.ask("accept", 1, "1")
        told_at = time.monotonic()
        await waiting
        assert time.monotonic() - told_at < SOON_S / 2
        assert [claim.key for claim in await store.journal.owned(A, limit=5)] == [lane("1")]


async def test_a_new_lane_wakes_a_process_that_may_claim_it(place: Place) -> None:
    store = await place.open()
    async with kid(place.name, lease_s=60) as child:
        await child.ask("join", A)
        await child.ask("wake", 0.05)
        child.tell("wake", SOON_S)
        await asyncio.sleep(0.2)
        await store.journal.accept(message(0), opens=conversation())
        told_at = time.monotonic()
        await child.hear()
        assert time.monotonic() - told_at < SOON_S / 2
        assert await child.ask("own", A, "1") > 0


async def test_a_wait_without_news_ends_with_its_time(store: Store) -> None:
    await store.nodes.join(A)
    await store.nodes.wake(0.01)
    began = time.monotonic()
    await store.nodes.wake(0.3)
    assert 0.2 < time.monotonic() - began < SOON_S


async def test_what_was_durable_before_a_kill_is_there_after_it(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(B)
    async with kid(place.name, lease_s=60) as child:
        await child.ask("join", A)
        await child.ask("begin", A, "1")
        child.tell("flood", "1")
        heard = [await child.hear() for _ in range(20)]
        await child.kill()
        heard += await child.hear_all()
    assert heard == list(range(2, len(heard) + 2))
    assert len(await notes(store)) in (len(heard), len(heard) + 1)
    [claim] = await claimed(store, B)
    events = await store.journal.since(lane("1"), 0)
    owner = await own(store, B)
    assert owner.session == fold_all(Session(key=claim.key), events)
    await owner.note("goes on")
    assert await store.upkeep.check() == []


async def test_c62_two_processes_share_many_lanes_without_a_double(place: Place) -> None:
    """Each lane is written by whoever claims it; the history of each has one writer at a time."""
    stores = [await place.open(), await place.open()]
    nodes = (A, B)
    for store, node in zip(stores, nodes, strict=True):
        await store.nodes.join(node)
    chats = [f"c{number}" for number in range(10)]

    async def talk() -> None:
        for number in range(5):
            for chat in chats:
                await stores[0].journal.accept(message(number, chat), opens=conversation(chat))
            await asyncio.sleep(0.02)

    async def work(store: Store, node: NodeId) -> None:
        for _ in range(30):
            for claim in await store.journal.claim(node, limit=2):
                chat = claim.key.rsplit(":", 1)[1]
                owner: Owner = await own(store, node, chat)
                await owner.note(f"{node} {claim.epoch}")
                await owner.rest()
                await store.journal.release([claim.key], node=node)
            await asyncio.sleep(0.005)

    await asyncio.gather(talk(), *map(work, stores, nodes))
    for chat in chats:
        kinds = await positions(stores[0], chat)
        assert kinds.count("MessageReceived") == 5
        written = await notes(stores[0], chat)
        epochs = [int(note.split()[1]) for note in written]
        assert epochs == sorted(set(epochs))
    assert await stores[0].upkeep.check() == []
