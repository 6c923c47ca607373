"""Random valid histories: what is stored, loaded, listed and rebuilt is what was folded."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.core import events as e
from hermes.core.fold import fold_all
from hermes.core.ids import SessionId
from hermes.core.messages import Line, Reply
from hermes.core.projection import TurnRow, commit_of, summary_of
from hermes.core.session import Session
from hermes.core.store import Store
from tests.contract.places import A, B, Owner, hits, lane, own
from tests.contract.player import Player

EXAMPLES = 12
STEPS = 40


@dataclass
class Told:
    """What the test itself knows of a lane, kept beside the store."""

    events: list[e.Event] = field(default_factory=list)
    lines: dict[tuple[SessionId, int], Line] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    turns: dict[str, TurnRow] = field(default_factory=dict)
    titles: dict[SessionId, str] = field(default_factory=dict)

    def add(self, key: Session, events: Sequence[e.Event]) -> None:
        for event in events:
            session = fold_all(Session(key=key.key), self.events)
            commit = commit_of(session, (event,))
            self.lines.update({(row.session, row.ordinal): row.line for row in commit.rows})
            self.replies += commit.replies
            self.turns.update({turn.id: turn for turn in commit.turns})
            self.titles[commit.after.id] = commit.summary.title
            self.events.append(event)


async def play(store: Store, dice: random.Random, chat: str) -> Told:
    """A lane's life: people write, the owner works, another node takes over now and then."""
    player, told = Player(dice, chat), Told()
    first = player.says()
    await store.journal.accept(first, opens=SessionId(f"first-{chat}"))
    told.add(Session(key=lane(chat)), [e.MessageReceived(first, SessionId(f"first-{chat}"))])
    node = A
    owner: Owner = await own(store, node, chat)
    for _ in range(STEPS):
        if dice.random() < 0.2:
            inbound = player.says()
            await store.journal.accept(inbound, opens=SessionId("unused"))
            event = e.MessageReceived(inbound, SessionId("unused"))
            told.add(owner.session, [event])
            if dice.random() < 0.7:  # else the owner learns of it by its next append
                owner.session = await store.journal.load(lane(chat))
        if dice.random() < 0.05:
            await store.journal.release([lane(chat)], node=node)
            node = B if node is A else A
            owner = await own(store, node, chat)
        events = player.next(owner.session, owner.fence.epoch)
        if events:
            await owner.write(*events, snapshot=dice.random() < 0.2)
            told.add(owner.session, events)
        assert await store.journal.load(lane(chat)) == fold_all(
            Session(key=lane(chat)), told.events
        )
    return told


async def expect(store: Store, chat: str, told: Told) -> None:
    key = lane(chat)
    assert await store.journal.since(key, 0) == told.events
    middle = len(told.events) // 2
    assert await store.journal.since(key, middle) == told.events[middle:]
    session = fold_all(Session(key=key), told.events)
    conversations = sorted({id_ for id_, _ in told.lines})
    lines = await store.journal.lines([e.Span(id_) for id_ in conversations])
    assert lines == [told.lines[name] for name in sorted(told.lines)]
    assert {turn.id: turn for turn in await store.library.turns(limit=999, key=key)} == told.turns
    rows = await store.outbox.rows(key, limit=999)
    assert [row.reply for row in reversed(rows)] == told.replies
    found = await store.library.find(key)
    assert found is not None
    summary = summary_of(session)
    assert (found.id, found.phase, found.mark, found.runs) == (
        summary.id,
        summary.phase,
        summary.mark,
        summary.runs,
    )
    assert (found.rows, found.events, found.waiting) == (
        summary.rows,
        len(told.events),
        len(session.waiting),
    )
    assert found.title.replace("\0", "") == summary.title.replace("\0", "")
    await expect_conversations(store, chat, told)


async def expect_conversations(store: Store, chat: str, told: Told) -> None:
    rows = await store.library.conversations(lane(chat), limit=999)
    assert {row.id for row in rows} == {id_ for id_, _ in told.lines}
    assert [row.at for row in rows] == sorted((row.at for row in rows), reverse=True)
    for row in rows:
        lines = [line for (id_, _), line in sorted(told.lines.items()) if id_ == row.id]
        assert (row.key, row.rows, row.at) == (lane(chat), len(lines), lines[-1].at)
        assert row.title.replace("\0", "") == told.titles[row.id].replace("\0", "")
        first = next((line.text for line in lines if line.role == "user"), "")
        assert row.opening.split()[:1] == first.replace("\0", "").split()[:1]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32))
async def test_a_random_history_is_stored_as_it_is_folded(store: Store, seed: int) -> None:
    if not await store.nodes.beat(A):
        await store.nodes.join(A)
        await store.nodes.join(B)
    chat = f"s{seed}"
    if await store.library.find(lane(chat)):
        return
    told = await play(store, random.Random(seed), chat)
    await expect(store, chat, told)


async def test_random_histories_are_the_same_after_a_rebuild(store: Store) -> None:
    await store.nodes.join(A)
    await store.nodes.join(B)
    lives = {f"s{seed}": await play(store, random.Random(seed), f"s{seed}") for seed in range(6)}
    before = await store.library.sessions(limit=99)
    counts = await store.library.counts()
    found = await hits(store, "owl", limit=999)
    questions = await store.library.questions(limit=999)
    assert len({row.state for row in questions}) >= 3
    await store.library.rebuild()
    assert await store.library.questions(limit=999) == questions
    assert await store.audit.check(await store.audit.heads()) == []
    assert await store.library.sessions(limit=99) == before
    assert await store.library.counts() == counts
    again = await hits(store, "owl", limit=999)
    assert sorted(map(str, again)) == sorted(map(str, found))
    for chat, told in lives.items():
        await expect(store, chat, told)
        assert await store.journal.load(lane(chat)) == fold_all(
            Session(key=lane(chat)), told.events
        )
    assert await store.upkeep.check() == []
