"""Listings and search: newest first, found by any of their names, rebuilt from the journal."""

import asyncio
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.errors import Rejected
from hermes.core.ids import SessionId, TurnId
from hermes.core.messages import Address
from hermes.core.store import Store
from tests.contract.places import (
    A,
    B,
    Place,
    begin,
    conversation,
    hits,
    lane,
    message,
    own,
    positions,
    turn,
)

HOSTILE = [
    "",
    " ",
    "\0",
    "'",
    '"',
    '"unclosed',
    "a AND OR NOT",
    "NEAR(a b)",
    "(((",
    "a* OR *",
    "-",
    "--; drop table messages",
    "& | ! <-> :*",
    "%s %(x)s {}",
    "text:hello",
    "^hello",
    "\\",
    "a\0b",
    "🦉",
    "é" * 5_000,
    "word " * 5_000,
    "x" * 100_000,
    "half \ud83e a character",
]


async def told(store: Store, chat: str, text: str, answer: str = "done", at: float = 2.0) -> None:
    owner = await begin(store, A, chat, text)
    await owner.start(chat, at=at)
    await owner.finish(chat, answer, at=at + 1)
    await owner.rest()


async def test_sessions_are_listed_newest_activity_first(place: Place) -> None:
    now = [100.0]
    store = await place.open(clock=lambda: now[0])
    await store.nodes.join(A)
    for chat in ("x", "y", "z"):
        now[0] += 10
        await store.journal.accept(message(0, chat), opens=conversation(chat))
    now[0] += 10
    await store.journal.accept(message(1, "x"), opens=conversation("x"))
    rows = await store.library.sessions(limit=10)
    assert [row.key for row in rows] == [lane("x"), lane("z"), lane("y")]
    assert [row.key for row in await store.library.sessions(limit=1)] == [lane("x")]
    older = await store.library.sessions(limit=10, before=rows[1].updated_at)
    assert [row.key for row in older] == [lane("y")]
    assert (rows[0].created_at, rows[0].updated_at) == (110.0, 140.0)


async def test_a_row_says_what_the_session_is(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    await owner.write(
        e.FactSet("title", "About\0 owls", 2.5),
        e.TurnMarked(turn("1"), "shutdown_timeout", 2.6),
    )
    await store.journal.accept(message(1), opens=conversation())
    [row] = await store.library.sessions(limit=5)
    assert (row.key, row.id, row.phase, row.mark) == (
        lane("1"),
        conversation(),
        "running",
        "shutdown_timeout",
    )
    assert (row.runs, row.waiting, row.events, row.rows) == (1, 1, 5, 1)
    assert row.title.replace("\0", "") == "About owls"


async def test_a_session_is_found_by_each_of_its_names(store: Store) -> None:
    await store.nodes.join(A)
    for chat in ("one", "two"):
        owner = await begin(store, A, chat)
        await owner.write(e.SessionReset(SessionId(f"second-{chat}"), "asked", 2.0))
    for name in (
        lane("one"),
        "conversation-one",
        "second-one",
        "conversation-o",
        "second-on",
    ):
        found = await store.library.find(name)
        assert found is not None, name
        assert (found.key, found.id) == (lane("one"), "second-one")
    for name in (
        "",
        "second",
        "conversation-",
        "third",
        "%",
        "_",
        "second-one\0",
        "econd-one",
        "\ud83e",
    ):
        assert await store.library.find(name) is None, name


async def test_an_id_that_is_the_beginning_of_another_is_found_exactly(store: Store) -> None:
    await store.journal.accept(message(0, "x"), opens=SessionId("abc"))
    await store.journal.accept(message(0, "y"), opens=SessionId("abcdef"))
    found = await store.library.find("abc")
    assert found is not None
    assert found.key == lane("x")


async def test_turns_are_listed_newest_first(store: Store) -> None:
    await store.nodes.join(A)
    for number, chat in enumerate(("x", "y", "z")):
        await told(store, chat, "q", at=10.0 * number)
    turns = await store.library.turns(limit=10)
    assert [row.id for row in turns] == [turn("z"), turn("y"), turn("x")]
    assert [row.id for row in await store.library.turns(limit=1)] == [turn("z")]
    [row] = await store.library.turns(limit=5, key=lane("y"))
    assert row == await store.library.turn(turn("y"))
    assert (row.state, row.attempts, row.started_at, row.ended_at, row.first) == (
        "answered",
        1,
        10.0,
        11.0,
        2,
    )
    assert row.session == conversation("y")
    assert await store.library.turn(TurnId("none")) is None


async def test_events_are_read_in_pages(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    for number in range(9):
        await owner.note(str(number))
    first = await store.library.events(lane("1"), limit=4)
    rest = await store.library.events(lane("1"), after=4, limit=100)
    assert len(first) == 4
    assert [*first, *rest] == await store.journal.since(lane("1"), 0)
    assert await store.library.events(lane("none")) == []


async def test_a_search_finds_rows_with_all_the_words(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "Where do snowy owls nest?", "On the open tundra.")
    await told(store, "y", "Where do swifts nest?", "Under roofs; Über den Dächern.")
    [hit] = await hits(store, "owls nest", limit=5)
    assert (hit.key, hit.id, hit.ordinal, hit.role) == (lane("x"), conversation("x"), 0, "user")
    assert "owls" in hit.excerpt
    assert {hit.key for hit in await hits(store, "NEST", limit=5)} == {
        lane("x"),
        lane("y"),
    }
    assert [hit.role for hit in await hits(store, "tundra", limit=5)] == ["assistant"]
    assert [hit.key for hit in await hits(store, "dachern", limit=5)] == [lane("y")]
    assert await hits(store, "owls roofs", limit=5) == ()
    assert await hits(store, "nothing", limit=5) == ()
    assert len(await hits(store, "nest", limit=1)) == 1


async def test_a_search_sees_older_conversations_of_a_lane(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "1", "the password of the owl")
    await owner.start("1")
    await owner.finish("1")
    await owner.write(e.SessionReset(SessionId("second"), "asked", 4.0))
    [hit] = await hits(store, "password", limit=5)
    assert (hit.key, hit.id) == (lane("1"), conversation())


async def test_a_word_inside_punctuation_is_found(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "open https://example.org/falcon-heavy?launch=now, (please)")
    for word in ("falcon", "heavy", "launch", "example", "please"):
        assert len(await hits(store, word, limit=5)) == 1, word


async def test_hostile_questions_are_answered_and_bounded(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "hello text word a b 🦉")
    for words in HOSTILE:
        async with asyncio.timeout(10):
            found = await hits(store, words, limit=3)
        assert len(found) <= 2, words[:40]
    assert len(await hits(store, "hello", limit=3)) == 1


async def test_long_rows_and_odd_characters_are_kept_whole(store: Store) -> None:
    await store.nodes.join(A)
    text = "needle nul \0 end " + "long " * 100_000 + " tail\ud7ff"
    await told(store, "x", text, "ok")
    session = await store.journal.load(lane("x"))
    [asked, _] = await store.journal.lines(session.view.spans)
    assert asked.text == text
    assert len(await hits(store, "needle", limit=5)) == 1


async def test_a_deleted_session_leaves_nothing(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "secret owl")
    await told(store, "y", "other owl")
    assert await store.library.delete(lane("x")) is True
    assert await store.library.delete(lane("x")) is False
    assert await store.library.find(lane("x")) is None
    assert await store.library.find(conversation("x")) is None
    assert await positions(store, "x") == []
    assert await store.library.turn(turn("x")) is None
    assert await store.outbox.rows(lane("x"), limit=5) == []
    assert [hit.key for hit in await hits(store, "owl", limit=5)] == [lane("y")]
    assert [row.key for row in await store.library.sessions(limit=5)] == [lane("y")]
    assert await store.journal.lines([e.Span(conversation("x"))]) == []
    assert await store.upkeep.check() == []
    assert (await store.journal.accept(message(0, "x"), opens=SessionId("again"))).position == 1
    assert (await store.journal.load(lane("x"))).id == "again"


async def test_a_session_at_work_is_not_deleted(place: Place) -> None:
    store, other = await place.open(), await place.open()
    await store.nodes.join(A)
    await other.nodes.join(B)
    owner = await begin(store, A)
    with pytest.raises(Rejected):
        await other.library.delete(lane("1"))
    await owner.note("goes on")
    assert await owner.rest()
    assert await other.library.delete(lane("1")) is True


async def test_what_a_dead_node_worked_at_can_be_deleted(store: Store) -> None:
    await store.nodes.join(A)
    await begin(store, A)
    await store.nodes.leave(A)
    assert await store.library.delete(lane("1")) is True


@dataclass(frozen=True)
class Shelf:
    """Everything that a library shows."""

    sessions: object
    turns: object
    hits: object
    lines: object
    found: object
    conversations: object
    chats: object
    homes: object
    counts: object
    busy: object


async def shelf(store: Store) -> Shelf:
    rows = await store.library.sessions(limit=100)
    loaded = [await store.journal.load(row.key) for row in rows]
    found = [await store.library.find(f"{part}-x") for part in ("conversation", "second")]
    spans = [e.Span(row.id) for row in rows] + [e.Span(conversation("x"))]
    found_rows = await hits(store, "owl", limit=100)
    return Shelf(
        sessions=(rows, loaded),
        turns=await store.library.turns(limit=100),
        hits=sorted(found_rows, key=lambda hit: (hit.id, hit.ordinal)),
        lines=await store.journal.lines(spans),
        found=found,
        conversations=await store.library.conversations(None, limit=100),
        chats=await store.library.chats(limit=100),
        homes=await store.library.homes(),
        counts=await store.library.counts(),
        busy=[await store.library.in_phase(phase, limit=100) for phase in ("running", "asking")],
    )


async def settle_in(store: Store) -> None:
    """Two lanes name the chat they share, and one of them is at home twice."""
    team = Address(platform="telegram", chat="team")
    for number, chat in enumerate(("x", "y", "x", "y")):
        said = message(f"p{number}", chat, at=10_000.0 * (number + 1))
        inbound = replace(said, address=team, place=f"Team {chat}")
        await store.journal.accept(inbound, opens=SessionId("unused"))
    x, y = await own(store, A, "x"), await own(store, A, "y")
    await x.write(e.HomeSet(team, 20.0), e.FactSet("title", "More owls", 21.0))
    await y.write(e.HomeSet(replace(team, chat="y"), 30.0), e.FactSet("note", "n", 31.0))
    await x.write(e.HomeSet(replace(team, platform="discord"), 40.0), rests=True)


async def test_a_rebuild_from_the_journal_changes_nothing(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "first owl")
    owner = await own(store, A, "x")
    await owner.write(
        e.FactSet("title", "Owls", 5.0), e.SessionReset(SessionId("second-x"), "asked", 6.0)
    )
    await store.journal.accept(message(1, "x", "second owl"), opens=SessionId("unused"))
    owner = await own(store, A, "x")
    events = e.TurnStarted(
        TurnId("t2"), (f"telegram:bot#{message(1, 'x').id}",), owner.fence.epoch, 7.0
    )
    await owner.write(events, snapshot=True)
    await owner.write(e.TurnMarked(TurnId("t2"), "restart_timeout", 8.0))
    await store.journal.accept(message(2, "x", "waits"), opens=SessionId("unused"))
    await told(store, "y", "third owl")
    await settle_in(store)
    before = await shelf(store)
    await store.library.rebuild()
    assert await shelf(store) == before
    assert await store.upkeep.check() == []
    await (await own(store, A, "x")).note("the owner goes on")
    await store.library.rebuild()
