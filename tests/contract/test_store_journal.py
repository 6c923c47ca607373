"""The journal's part of the store contract: messages once, events in order, writers fenced."""

import asyncio

import pytest

from hermes.core import events as e
from hermes.core.errors import Fenced, Refused
from hermes.core.fold import fold_all
from hermes.core.ids import NodeId, SessionId
from hermes.core.projection import commit_of
from hermes.core.session import Session
from hermes.core.store import Claim, Fence, Store
from tests.contract.places import (
    A,
    B,
    Place,
    begin,
    conversation,
    lane,
    message,
    own,
    positions,
    turn,
)


async def test_a_message_that_is_delivered_twice_is_journaled_once(store: Store) -> None:
    first = await store.journal.accept(message(1), opens=conversation())
    second = await store.journal.accept(message(1, text="changed"), opens=SessionId("other"))
    assert (first.fresh, first.key, first.position) == (True, lane("1"), 1)
    assert (second.fresh, second.key, second.position) == (False, lane("1"), 1)
    session = await store.journal.load(lane("1"))
    assert session.id == conversation()
    assert [inbound.text for inbound in session.waiting] == ["hello"]


async def test_one_message_delivered_many_times_at_once_is_journaled_once(place: Place) -> None:
    stores = [await place.open(), await place.open()]
    accepted = await asyncio.gather(
        *(stores[i % 2].journal.accept(message(1), opens=conversation()) for i in range(40))
    )
    assert sum(each.fresh for each in accepted) == 1
    assert {each.position for each in accepted} == {1}
    assert await positions(stores[0]) == ["MessageReceived"]


async def test_messages_of_many_lanes_and_processes_get_positions_without_gaps(
    place: Place,
) -> None:
    stores = [await place.open(), await place.open()]
    wanted = [(chat, number) for number in range(20) for chat in ("x", "y", "z")]

    async def send(index: int, chat: str, number: int) -> tuple[str, int]:
        journal = stores[index % 2].journal
        accepted = await journal.accept(message(number, chat), opens=conversation(chat))
        return chat, accepted.position

    got = await asyncio.gather(*(send(i, *each) for i, each in enumerate(wanted)))
    for chat in ("x", "y", "z"):
        assert sorted(place for at, place in got if at == chat) == list(range(1, 21))
        assert len((await stores[0].journal.load(lane(chat))).waiting) == 20
    assert await stores[0].upkeep.check() == []


async def test_messages_of_one_sender_keep_their_order(store: Store) -> None:
    burst = [
        asyncio.create_task(store.journal.accept(message(n), opens=conversation()))
        for n in range(30)
    ]
    assert [(await each).position for each in burst] == list(range(1, 31))
    waiting = (await store.journal.load(lane("1"))).waiting
    assert [inbound.id for inbound in waiting] == [f"1-{n}" for n in range(30)]


async def test_an_unknown_lane_is_an_empty_session(store: Store) -> None:
    await store.nodes.join(A)
    assert await store.journal.load(lane("none")) == Session(key=lane("none"))
    assert await store.journal.since(lane("none"), 0) == []
    assert await store.journal.claim(A, limit=5, only=lane("none")) == []
    assert await store.library.find(lane("none")) is None


async def test_what_is_appended_is_there_in_order(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    assert await owner.start("1") == 2
    assert await owner.finish("1") == 4
    names = ["MessageReceived", "TurnStarted", "ModelAnswered", "TurnEnded"]
    assert await positions(store) == names
    assert await store.journal.load(lane("1")) == owner.session
    later = await store.journal.since(lane("1"), 2)
    assert [type(event).__name__ for event in later] == names[2:]
    lines = await store.journal.lines(owner.session.view.spans)
    assert [(line.role, line.text) for line in lines] == [("user", "hello"), ("assistant", "done")]


async def test_lines_come_by_spans_in_their_order(store: Store) -> None:
    await store.nodes.join(A)
    for chat in ("x", "y"):
        owner = await begin(store, A, chat, text=f"asked {chat}")
        await owner.start(chat)
        await owner.finish(chat, text=f"told {chat}")
    spans = [
        e.Span(conversation("y"), 1),
        e.Span(conversation("x"), 0, 1),
        e.Span(SessionId("none")),
        e.Span(conversation("y"), 0, 1),
    ]
    texts = [line.text for line in await store.journal.lines(spans)]
    assert texts == ["told y", "asked x", "asked y"]
    assert await store.journal.lines([]) == []


@pytest.mark.parametrize(
    "fence", [Fence(A, 0), Fence(A, 99), Fence(B, 1), Fence(NodeId("nobody"), 1)], ids=str
)
async def test_c62_only_the_owner_of_this_epoch_writes(store: Store, fence: Fence) -> None:
    await store.nodes.join(A)
    await store.nodes.join(B)
    owner = await begin(store, A)
    stranger = Fence(fence.node, owner.fence.epoch if fence.epoch == 1 else fence.epoch)
    commit = commit_of(owner.session, [e.FactSet("note", "mine", 2.0)])
    with pytest.raises(Fenced):
        await store.journal.append(commit, fence=stranger)
    with pytest.raises(Fenced):
        await store.journal.rest(lane("1"), 1, fence=stranger)
    assert await positions(store) == ["MessageReceived"]
    assert await store.journal.load(lane("1")) == owner.session


async def test_c62_a_node_that_left_writes_nothing_more(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await store.nodes.leave(A)
    with pytest.raises(Fenced):
        await owner.note("late")
    with pytest.raises(Fenced):
        await owner.rest()
    with pytest.raises(Fenced):
        await store.journal.claim(A, limit=5)
    assert await store.nodes.beat(A) is False
    assert await positions(store) == ["MessageReceived"]


async def test_a_lane_that_does_not_exist_cannot_be_written_to(store: Store) -> None:
    await store.nodes.join(A)
    commit = commit_of(Session(key=lane("none")), [e.FactSet("note", "x", 1.0)])
    with pytest.raises(Fenced):
        await store.journal.append(commit, fence=Fence(A, 1))
    assert await store.library.sessions(limit=5) == []


async def test_a_writer_that_has_not_seen_its_own_last_event_is_refused(store: Store) -> None:
    """The same append sent twice writes once, whoever sends it again and why."""
    await store.nodes.join(A)
    owner = await begin(store, A)
    commit = commit_of(owner.session, [e.FactSet("note", "once", 2.0)])
    await store.journal.append(commit, fence=owner.fence)
    with pytest.raises(Refused):
        await store.journal.append(commit, fence=owner.fence)
    assert await positions(store) == ["MessageReceived", "FactSet"]


async def test_a_refused_append_spoils_nothing_for_the_others(store: Store) -> None:
    await store.nodes.join(A)
    owners = [await begin(store, A, f"c{n}") for n in range(12)]
    for owner in owners[::3]:
        owner.fence = Fence(A, owner.fence.epoch + 1_000)
    done = await asyncio.gather(*(o.note("n") for o in owners), return_exceptions=True)
    assert [type(each) for each in done] == [Fenced, int, int] * 4


async def test_a_message_that_arrives_during_a_step_lands_between(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    commit = commit_of(
        owner.session, [e.ModelAnswered(turn=turn("1"), at=3.0, text="hi")], snapshot=True
    )
    await store.journal.accept(message(1, text="and this"), opens=conversation())
    head = await store.journal.append(commit, fence=owner.fence)
    assert (head, commit.after.position) == (4, 3)
    missed = await store.journal.since(lane("1"), owner.session.position)
    assert [type(event) for event in missed] == [e.MessageReceived, e.ModelAnswered]
    session = await store.journal.load(lane("1"))
    assert session == fold_all(owner.session, missed)
    assert [inbound.text for inbound in session.waiting] == ["and this"]
    [row] = await store.library.sessions(limit=1)
    assert (row.waiting, row.events, row.rows) == (1, 4, 2)


async def test_a_turn_that_begins_behind_an_unseen_message_knows_where(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await store.journal.accept(message(1), opens=conversation())
    assert await owner.start("1") == 3
    [row] = await store.library.turns(limit=5)
    session = await store.journal.load(lane("1"))
    assert session.turn is not None
    assert row.first == session.turn.first == 3
    await store.library.rebuild()
    assert await store.library.turns(limit=5) == [row]


async def test_a_snapshot_changes_nothing_but_the_cost_of_loading(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    for number in range(20):
        event = e.FactSet(f"fact{number}", "x" * number, 2.0)
        await owner.write(event, snapshot=number % 7 == 0)
        assert await store.journal.load(lane("1")) == owner.session
    whole = fold_all(Session(key=lane("1")), await store.journal.since(lane("1"), 0))
    assert whole == owner.session


async def test_concurrent_accepts_and_appends_leave_one_valid_history(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)

    async def talk() -> None:
        for number in range(1, 30):
            await other.journal.accept(message(number), opens=conversation())

    async def work() -> None:
        for number in range(30):
            await owner.note(str(number))

    await asyncio.gather(talk(), work())
    events = await store.journal.since(lane("1"), 0)
    notes = [event.value for event in events if isinstance(event, e.FactSet)]
    assert notes == [str(number) for number in range(30)]
    session = fold_all(Session(key=lane("1")), events)
    assert session == await store.journal.load(lane("1"))
    assert len(session.waiting) == 30
    assert await store.upkeep.check() == []


async def test_a_claim_takes_what_waits_oldest_first_and_only_once(place: Place) -> None:
    now = [100.0]
    store = await place.open(clock=lambda: now[0])
    await store.nodes.join(A)
    for chat in ("x", "y", "z"):
        now[0] += 1
        await store.journal.accept(message(0, chat), opens=conversation(chat))
    claims = await store.journal.claim(A, limit=2)
    assert [claim.key for claim in claims] == [lane("x"), lane("y")]
    assert [claim.key for claim in await store.journal.claim(A, limit=9)] == [lane("z")]
    assert await store.journal.claim(A, limit=9) == []


async def test_c62_many_claimers_share_the_work_without_a_double(place: Place) -> None:
    stores = [await place.open(), await place.open()]
    nodes = [NodeId(f"node-{n}") for n in range(8)]
    for index, node in enumerate(nodes):
        await stores[index % 2].nodes.join(node)
    for number in range(40):
        await stores[0].journal.accept(message(0, f"c{number}"), opens=conversation(f"c{number}"))

    async def take(index: int, node: NodeId) -> list[Claim]:
        taken: list[Claim] = []
        while claims := await stores[index % 2].journal.claim(node, limit=3):
            taken += claims
        return taken

    shares = await asyncio.gather(*(take(*each) for each in enumerate(nodes)))
    taken = [claim.key for share in shares for claim in share]
    left = await stores[0].journal.claim(nodes[0], limit=50)
    assert sorted([*taken, *(claim.key for claim in left)]) == sorted(
        lane(f"c{number}") for number in range(40)
    )


async def test_c62_a_lane_of_a_living_node_is_not_given_to_another(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    owner = await begin(store, A)
    assert await other.journal.claim(B, limit=5) == []
    assert await other.journal.claim(B, limit=5, only=lane("1")) == []
    assert await store.journal.claim(A, limit=5, only=lane("1")) == [
        Claim(lane("1"), owner.fence.epoch)
    ]
    await owner.note("still mine")


async def test_every_takeover_has_a_later_epoch(store: Store) -> None:
    await store.nodes.join(A)
    await store.nodes.join(B)
    owner = await begin(store, A)
    epochs = [owner.fence.epoch]
    for node in (B, A, B):
        await store.journal.release([lane("1")], node=A if node is B else B)
        epochs.append((await own(store, node)).fence.epoch)
    assert epochs == sorted(set(epochs))
    with pytest.raises(Fenced):
        await owner.note("from the first ownership")


async def test_a_deleted_lane_that_comes_back_does_not_honour_an_old_fence(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.note("old")
    await owner.rest()
    await store.library.delete(lane("1"))
    await store.journal.accept(message(7), opens=SessionId("new"))
    await own(store, A)
    with pytest.raises((Fenced, Refused)):
        await owner.note("ghost")
    assert await positions(store) == ["MessageReceived"]


async def test_a_rested_lane_waits_for_its_next_event_with_its_owner(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    owner = await begin(store, A)
    assert [claim.key for claim in await store.journal.owned(A, limit=5)] == [lane("1")]
    assert await owner.rest() is True
    assert await store.journal.owned(A, limit=5) == []
    new = await other.journal.accept(message(1), opens=conversation())
    assert await other.journal.claim(B, limit=5) == []
    claim = Claim(lane("1"), owner.fence.epoch, head=new.position)
    assert await store.journal.owned(A, limit=5) == [claim]


async def test_a_rest_that_was_overtaken_by_a_message_says_so(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await store.journal.accept(message(1), opens=conversation())
    assert await owner.rest() is False
    assert len(await store.journal.owned(A, limit=5)) == 1
    owner.session = await store.journal.load(lane("1"))
    assert await owner.rest() is True
    assert await store.journal.owned(A, limit=5) == []


async def test_a_released_lane_is_free_at_once(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    owner = await begin(store, A)
    await store.journal.release([lane("1"), lane("none")], node=B)
    await owner.note("B could not release what is mine")
    await store.journal.release([lane("1")], node=A)
    with pytest.raises(Fenced):
        await owner.note("late")
    assert [claim.key for claim in await other.journal.claim(B, limit=5)] == [lane("1")]
