"""The accounts: every model call and every tool call, in the commit that tells of it."""

import time
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.errors import Refused
from hermes.core.ids import SessionId
from hermes.core.messages import Call, Effect, Outcome, Spent, Usage
from hermes.core.session import call_id
from hermes.core.store import Dimension, Spending, Store
from hermes.stores.postgres import copies
from tests.contract.places import A, Owner, Place, PostgresPlace, begin, lane, message, own, turn
from tests.contract.server import fresh_database
from tests.contract.surgery import run

DAY_S = 86_400
MODEL = "openrouter:owl"
TOKENS = Usage(input=100, output=20, cached=60, cache_written=5, reasoning=7)
PAID = Usage(input=10, output=2, cost=0.25)
FAR = 10.0 * DAY_S


async def converse(owner: Owner, chat: str, *usages: Usage, at: float = 3.0) -> None:
    """A turn with a tool call between each two answers."""
    await owner.start(chat, at=at)
    for number, usage in enumerate(usages, start=1):
        last = number == len(usages)
        assert owner.session.turn is not None
        call = Call(id=call_id(owner.session.turn, 1), tool="read_file")
        answer = e.ModelAnswered(
            turn=turn(chat), at=at, usage=usage, model=MODEL, calls=() if last else (call,)
        )
        await owner.write(answer)
        if not last:
            await owner.write(
                e.CallStarted(turn(chat), call.id, Effect.READ, owner.fence.epoch, at),
                e.CallEnded(
                    turn=turn(chat),
                    call=call.id,
                    outcome=Outcome.OK,
                    text="done",
                    at=at + 0.5,
                    spent=(Spent(purpose="vision", model="openai:eye", usage=PAID),),
                ),
            )
    await owner.write(e.TurnEnded(turn=turn(chat), outcome="answered", at=at + 1))


async def everything(store: Store) -> Spending:
    return await store.library.usage(since=0.0, until=FAR)


def by(spending: Spending, dimension: Dimension) -> list[tuple[str, str, int, Usage]]:
    rows = [each for each in spending.sums if each.by == dimension]
    return sorted(((r.name, r.model, r.calls, r.usage) for r in rows), key=repr)


async def test_every_model_call_is_accounted_under_each_name(store: Store) -> None:
    await store.nodes.join(A)
    await converse(await begin(store, A), "1", TOKENS, TOKENS, at=DAY_S + 5)
    spending = await everything(store)
    both = Usage(input=200, output=40, cached=120, cache_written=10, reasoning=14)
    own_, eye = (MODEL, 2, both), ("openai:eye", 1, PAID)
    assert by(spending, "day") == [("1970-01-02", *eye), ("1970-01-02", *own_)]
    assert by(spending, "model") == [("openai:eye", *eye), (MODEL, *own_)]
    assert by(spending, "purpose") == [("turn", *own_), ("vision", *eye)]
    assert by(spending, "platform") == [("telegram", *eye), ("telegram", *own_)]
    assert by(spending, "session") == [(lane("1"), *eye), (lane("1"), *own_)]
    assert by(spending, "person") == [("ann", *eye), ("ann", *own_)]
    [tool] = spending.tools
    assert (tool.tool, tool.calls, tool.failed) == ("read_file", 1, 0)
    assert (tool.timed, tool.seconds) == (1, 0.5)


async def test_calls_with_the_providers_cost_and_without_are_kept_apart(store: Store) -> None:
    await store.nodes.join(A)
    await converse(await begin(store, A), "1", PAID, TOKENS)
    rows = [each for each in await store.library.spent(since=0.0) if each.model == MODEL]
    assert {each.usage.cost for each in rows} == {None, 0.25}


async def test_what_was_spent_on_a_message_counts_when_it_is_taken_in(store: Store) -> None:
    await store.nodes.join(A)
    seen = Spent(purpose="vision", model="openai:eye", usage=PAID)
    await store.journal.accept(
        replace(message(0), spent=(seen, seen)), opens=SessionId("conversation-1")
    )
    assert await store.library.spent(since=0.0) == []
    owner = await own(store, A)
    await owner.start("1")
    [row] = await store.library.spent(since=0.0, person="ann")
    assert (row.model, row.calls, row.usage.cost) == ("openai:eye", 2, 0.5)


async def test_what_was_spent_on_a_summary_counts_without_a_turn(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    spent = Spent(purpose="compaction", model="openai:small", usage=TOKENS)
    await owner.write(
        e.CompactionFailed(of=owner.session.viewed_at, why="x", not_before=9, at=4, spent=(spent,))
    )
    [(name, *_)] = by(await everything(store), "purpose")
    [(platform, *_)] = by(await everything(store), "platform")
    assert (name, platform) == ("compaction", "telegram")


async def test_spent_asks_for_a_lane_a_conversation_a_person_and_a_time(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A, "1")
    await converse(owner, "1", TOKENS, at=5.0)
    await owner.write(e.SessionReset(SessionId("second"), "asked", 6.0))
    other = await begin(store, A, "2")
    await converse(other, "2", TOKENS, at=50.0)

    async def calls(**which: object) -> int:
        rows = await store.library.spent(**{"since": 0.0, **which})  # type: ignore[arg-type]
        return sum(each.calls for each in rows)

    assert await calls() == 2
    assert await calls(since=6.0) == 1
    assert await calls(key=lane("1")) == 1
    assert await calls(key=lane("nobody")) == 0
    assert await calls(key=lane("1"), conversation=SessionId("conversation-1")) == 1
    assert await calls(key=lane("1"), conversation=SessionId("second")) == 0
    assert await calls(person="ann") == 2
    assert await calls(person="bob\0") == 0


async def test_a_period_has_its_beginning_and_not_its_end(store: Store) -> None:
    await store.nodes.join(A)
    await converse(await begin(store, A), "1", TOKENS, at=10.0)
    assert (await store.library.usage(since=10.0, until=10.1)).sums
    assert not (await store.library.usage(since=9.0, until=10.0)).sums


async def test_each_dimension_is_cut_to_its_greatest(store: Store) -> None:
    await store.nodes.join(A)
    for number in range(1, 6):
        owner = await begin(store, A, str(number))
        await converse(owner, str(number), Usage(input=number))
    cut = await store.library.usage(since=0.0, until=FAR, limit=2)
    names = [each.name for each in cut.sums if each.by == "session"]
    assert names == [lane("5"), lane("4")]
    assert [each.calls for each in cut.sums if each.by == "model"] == [5]


async def test_a_refused_commit_spends_nothing(store: Store) -> None:
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    stale = replace(owner.session)
    await owner.note("moved on")
    commit_from = Owner(store, owner.fence, stale)
    with pytest.raises(Refused):
        await commit_from.write(e.ModelAnswered(turn=turn("1"), at=1, usage=TOKENS, model=MODEL))
    assert await store.library.spent(since=0.0) == []


async def test_a_message_between_does_not_move_the_account(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    await store.journal.accept(message(7), opens=SessionId("x"))
    answer = e.ModelAnswered(turn=turn("1"), at=3, usage=TOKENS, model=MODEL)
    assert await owner.write(answer) == 4
    assert asked(place, "select position, ordinal from usage") == [(4, 0)]


async def test_a_rebuild_gives_the_same_accounts(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(A)
    for chat in ("1", "2"):
        await converse(await begin(store, A, chat), chat, TOKENS, PAID, TOKENS)
    before, rows = await everything(store), _rows(place)
    await store.library.rebuild()
    assert await everything(store) == before
    assert _rows(place) == rows
    assert len(rows) == 14


async def test_an_older_database_gets_the_accounts_that_its_journal_has(place: Place) -> None:
    """Only who was asked by a tool was not written down in those days."""
    store = await place.open()
    await store.nodes.join(A)
    for chat in ("1", "2"):
        await converse(await begin(store, A, chat), chat, TOKENS, PAID, TOKENS)
    rows = [row for row in _rows(place) if "openai:eye" not in row]
    calls = [row[:4] for row in rows if "read_file" in row]
    asked(place, "delete from usage")
    asked(place, "delete from tool_calls")
    kind = "postgres/sql/migrations" if isinstance(place, PostgresPlace) else "sqlite/sql"
    sql = (resources.files("hermes.stores") / kind / "0003_context.sql").read_text("utf-8")
    for statement in sql.partition("-- What the journal says of earlier times")[2].split(";\n"):
        asked(place, f"-- {statement}")
    again = _rows(place)
    assert [row for row in again if MODEL in row] == [row for row in rows if MODEL in row]
    assert [row[:4] for row in again if "read_file" in row] == calls
    assert {row[4] for row in again if "read_file" in row} == {0.5}


async def test_a_deleted_session_leaves_what_it_cost_and_no_word_of_itself(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)
    await converse(owner, "1", TOKENS, PAID)
    await owner.rest()
    before = await everything(store)
    assert await store.library.delete(lane("1"))
    for _ in range(2):
        after = await everything(store)
        assert by(after, "model") == by(before, "model")
        assert by(after, "person") == by(before, "person")
        assert {each.name for each in after.sums if each.by == "session"} == {""}
        assert after.tools == ()
        assert await store.library.spent(since=0.0, key=lane("1")) == []
        await store.library.rebuild()
    assert set(asked(place, "select turn, position from usage")) == {("", 0)}
    again = await begin(store, A)
    await converse(again, "1", TOKENS)
    assert sum(each.calls for each in await store.library.spent(since=0.0, key=lane("1"))) == 1


async def test_a_copy_keeps_what_deleted_sessions_cost(
    place: Place, tmp_path: Path, postgres_server: str
) -> None:
    store = await place.open()
    await store.nodes.join(A)
    for chat in ("1", "2"):
        owner = await begin(store, A, chat)
        await converse(owner, chat, TOKENS)
        await owner.rest()
    await store.library.delete(lane("1"))
    before = await everything(store)
    await store.upkeep.backup(str(tmp_path / "copy.db"))
    await place.close()
    if isinstance(place, PostgresPlace):
        with fresh_database(postgres_server) as url:
            await copies.restore(url, tmp_path / "copy.db")
            await _same(PostgresPlace(url), before)
    else:
        await _same(Place(str(tmp_path / "copy.db")), before)


async def _same(place: Place, before: Spending) -> None:
    store = await place.open()
    assert await everything(store) == before
    await place.close()


async def test_a_hundred_thousand_calls_are_added_up_in_little_more_than_reading_them(
    place: Place,
) -> None:
    """As ratios, which mean the same on any machine: some 6 times on a quiet one."""
    store = await place.open()
    await store.nodes.join(A)
    await converse(await begin(store, A), "1", TOKENS)
    _fill(place)
    library = store.library
    read = await best(lambda: library.spent(since=0.0))
    added = await best(lambda: library.usage(since=0.0, until=400.0 * DAY_S))
    lane_ = await best(lambda: library.spent(since=0.0, key=lane("1")))
    today = await best(lambda: library.spent(since=29.0 * DAY_S, person="p7"))
    spending = await library.usage(since=0.0, until=400.0 * DAY_S)
    assert sum(each.calls for each in spending.sums if each.by == "day") == 100_001
    assert added < 20 * read
    assert max(lane_, today) < read


async def best(ask: Callable[[], Awaitable[object]]) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        await ask()
        times.append(time.perf_counter() - started)
    return min(times)


def asked(place: Place, sql: str) -> list[tuple[object, ...]]:
    """The tables by their names alone."""
    if isinstance(place, PostgresPlace):
        return run(f"{place.name}&options=-csearch_path%3Dhermes", sql)
    return run(place.name, sql)


FILL = """
insert into usage ({who}, turn, position, ordinal, at, platform, person, model, purpose, input,
                   output, cached, cache_written, reasoning, cost)
select {key}, 'c', 't', i, 0, i * 25.9, 'telegram', 'p' || (i % 40), 'm' || (i % 3), 'turn',
       1000, 100, 500, 0, 0, case when i % 3 = 0 then 0.01 end
from {series}
"""
SERIES = """
(with recursive s (i) as (select 1 union all select i + 1 from s where i < 100000) select i from s)
"""


def _fill(place: Place) -> None:
    """A hundred thousand rows: thirty days, three models, hundreds of sessions, many people."""
    if isinstance(place, PostgresPlace):
        parts = {"who": "key, session", "key": "'k' || (i % 300)"}
        asked(place, FILL.format(**parts, series="generate_series(1, 100000) i"))
        asked(place, "analyze usage")
    else:
        parts = {"who": "session, conversation", "key": "1000 + i % 300"}
        asked(place, FILL.format(**parts, series=SERIES))


def _rows(place: Place) -> list[tuple[object, ...]]:
    usage = "turn, position, ordinal, at, platform, person, model, purpose, input, cost"
    found = asked(place, f"select {usage} from usage")  # noqa: S608
    calls = asked(place, "select position, tool, outcome, at, seconds from tool_calls")
    return sorted([*found, *calls], key=str)
