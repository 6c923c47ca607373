"""Many gateways on one PostgreSQL: holds, doubts, and what is cheap however much there is."""

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator, Sequence
from importlib import resources
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import NodeId, SessionId
from hermes.core.messages import Address
from hermes.core.store import Store
from hermes.stores.postgres import restore
from hermes.stores.postgres.nodes import BOOTS_KEPT, CHATS_KEPT
from hermes.stores.postgres.statements import QUERY
from tests.contract.places import A, B, PostgresPlace, begin, conversation, lane, message, reply
from tests.contract.surgery import run
from tests.contract.test_store_histories import play
from tests.contract.wire import Wire

SOON_S = 90.0
WRITING_S = 1.5


@pytest.fixture
async def base(database: str) -> AsyncIterator[PostgresPlace]:
    place = PostgresPlace(database)
    yield place
    await place.close()


@pytest.fixture
async def wire(database: str, tmp_path: Path) -> AsyncIterator[Wire]:
    async with Wire(database, tmp_path).up() as up:
        yield up


async def answer(store: Store, node: NodeId, chat: str) -> None:
    owner = await begin(store, node, chat)
    await owner.start(chat)
    await owner.finish(chat)


# ── what only one may have ──────────────────────────────────────────────────────────────────────


async def test_of_many_that_join_and_want_the_same_at_once_one_gets_it(base: PostgresPlace) -> None:
    stores = [await base.open() for _ in range(6)]

    async def want(number: int, name: str) -> bool:
        node = NodeId(f"{name}-{number}")
        await stores[number].nodes.join(node)
        return await stores[number].nodes.hold(node, name)

    for name in ("bot-1", "bot-2", "bot-3"):
        got = await asyncio.gather(*(want(number, name) for number in range(len(stores))))
        assert sum(got) == 1


async def test_c15_the_dead_are_kept_by_their_seat(base: PostgresPlace) -> None:
    store = await base.open()
    for seat, count in (("one", 3), ("two", BOOTS_KEPT + 50), ("", CHATS_KEPT + 500)):
        run(
            base.name,
            f"""insert into hermes.nodes (id, token, started_at, seat, buried)
                select 'n-{seat}-' || g, 'gone', g, '{seat}', true
                from generate_series(1, {count}) g""",  # noqa: S608
        )
    await store.nodes.join(A, seat="one")
    assert len(await store.nodes.boots("one", limit=999)) == 4
    assert len(await store.nodes.boots("two", limit=999)) == BOOTS_KEPT
    [(rows,)] = run(base.name, "select count(*) from hermes.nodes")
    assert rows == 4 + BOOTS_KEPT + CHATS_KEPT


# ── commits in doubt ────────────────────────────────────────────────────────────────────────────


async def test_a_commit_that_rests_and_is_not_confirmed_rests_once(wire: Wire) -> None:
    place = PostgresPlace(wire.url)
    store = await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)
    wire.cut_after_next()
    assert await owner.write(e.FactSet("note", "x", 2.0), rests=True) == 2
    assert wire.cuts == 1
    assert await store.journal.owned(A, limit=5) == []
    assert await store.upkeep.check() == []
    await place.close()


async def test_a_send_in_doubt_goes_on_though_its_chat_was_paused_meanwhile(
    wire: Wire, database: str
) -> None:
    place = PostgresPlace(wire.url)
    store = await place.open()
    await store.nodes.join(A)
    await answer(store, A, "1")
    wire.cut_after_next()
    asked = asyncio.create_task(store.outbox.sending(reply("1").id, node=A))
    other = PostgresPlace(database)
    elsewhere = await other.open()
    async with asyncio.timeout(SOON_S):
        await in_hand(elsewhere)
    await elsewhere.outbox.pause("telegram", "1", until=time.time() + 60)
    assert await asked is True
    assert wire.cuts == 1
    await store.outbox.delivered(reply("1").id, "m", at=5.0)
    [row] = await store.outbox.rows(lane("1"), limit=5)
    assert (row.state, row.receipt) == ("delivered", "m")
    await other.close()
    await place.close()


async def in_hand(store: Store) -> None:
    state = ""
    while state != "sending":
        [row] = await store.outbox.rows(lane("1"), limit=1)
        state = row.state


async def test_what_was_being_written_when_its_session_was_deleted_is_gone_too(
    base: PostgresPlace,
) -> None:
    store = await base.open()
    await store.journal.accept(message(0), opens=conversation())
    with psycopg.connect(base.name) as other:
        other.execute("set search_path = hermes")
        other.execute("update sessions set head = 2")
        deleted = asyncio.create_task(store.library.delete(lane("1")))
        await asyncio.sleep(0.3)
        other.execute("insert into journal select key, 2, kind, event, at from journal")
        other.commit()
    assert await deleted is True
    assert run(base.name, "select count(*) from hermes.journal") == [(0,)]
    assert (await store.journal.accept(message(1), opens=conversation())).position == 1
    assert await store.upkeep.check() == []


async def test_a_rebuild_beside_those_who_write_and_delete_breaks_nothing(
    base: PostgresPlace,
) -> None:
    store, other = await base.open(), await base.open()
    until, dice = time.monotonic() + WRITING_S, random.Random(5)

    async def talk(name: str) -> None:
        for number in itertools.count():
            if time.monotonic() > until:
                return
            inbound = message(f"{name}-{number}", f"c{dice.randrange(6)}")
            opens = SessionId(f"{inbound.id}")
            await store.journal.accept(replace(inbound, place="Team"), opens=opens)

    async def delete() -> None:
        while time.monotonic() < until:
            await other.library.delete(lane(f"c{dice.randrange(6)}"))

    async def rebuild() -> None:
        while time.monotonic() < until:
            await other.library.rebuild()

    await asyncio.gather(*(talk(name) for name in "abcd"), delete(), rebuild())
    assert await store.upkeep.check() == []


# ── cheap however much there is ─────────────────────────────────────────────────────────────────


async def test_a_message_in_a_chat_that_is_known_writes_nothing_to_the_directory(
    base: PostgresPlace,
) -> None:
    store = await base.open()
    team = replace(message(0), place="Team")
    await store.journal.accept(team, opens=conversation())
    before = run(base.name, "select xmin::text, xmax::text, * from hermes.chats")
    for number in range(1, 5):
        later = replace(message(number), place="Team", at=1.0 + number)
        await store.journal.accept(later, opens=conversation())
    assert run(base.name, "select xmin::text, xmax::text, * from hermes.chats") == before


async def test_lanes_that_speak_in_one_batch_are_all_in_the_directory(base: PostgresPlace) -> None:
    store = await base.open()
    team = Address(platform="telegram", chat="team")
    for chats in (("x", "y", "x"), ("x", "y"), ("y", "x", "y", "x")):
        said = [replace(message(len(chats) * 10 + n, c), address=team) for n, c in enumerate(chats)]
        await asyncio.gather(
            *(
                store.journal.accept(replace(each, place="Team"), opens=SessionId(each.session))
                for each in said
            )
        )
        [row] = await store.library.chats(limit=9)
        assert row.session == lane(chats[-1])
    assert await store.library.delete(row.session)
    assert [row.session for row in await store.library.chats(limit=9)] == [lane("y")]


async def test_counts_read_no_session_that_does_nothing(base: PostgresPlace) -> None:
    await base.open()
    with psycopg.connect(base.name, autocommit=True) as other:
        other.execute("set search_path = hermes")
        other.execute(
            """insert into sessions (key, id, head, phase)
               select 's' || g, 'c' || g, 1, case when g % 100 = 0 then 'running' else 'idle' end
               from generate_series(1, 5000) g"""
        )
        other.execute(
            """insert into outbox (id, key, platform, chat, reply, state, created_at)
               select 'r' || g, 's' || g, 'telegram', '1', '', 'delivered', g
               from generate_series(1, 5000) g"""
        )
        for analyzed in (False, True):
            if analyzed:
                other.execute("analyze")
            for name in ("phases", "outbox_states", "totals"):
                plan = other.execute(b"explain " + QUERY[name]).fetchall()
                scans = [line for (line,) in plan if "Seq Scan" in line and "tally" not in line]
                assert scans == [], name


async def test_counts_are_exact_whoever_writes_and_a_wrong_one_is_found(
    base: PostgresPlace,
) -> None:
    stores = [await base.open(), await base.open()]
    for node in (A, B):
        await stores[0].nodes.join(node)
    await asyncio.gather(*(play(stores[0], random.Random(seed), f"s{seed}") for seed in range(3)))
    await asyncio.gather(
        *(
            stores[number % 2].journal.accept(message(number, "x"), opens=conversation("x"))
            for number in range(50)
        )
    )
    [(sessions, waiting)] = counted(base)
    counts = await stores[1].library.counts()
    assert (counts.sessions, counts.queued) == (sessions, waiting)
    assert await stores[0].upkeep.check() == []
    run(base.name, "update hermes.tally set sessions = sessions + 1, waiting = waiting - 1")
    assert [each for each in await stores[0].upkeep.check() if "counted" in each]
    await stores[0].library.rebuild()
    assert await stores[0].upkeep.check() == []
    assert await stores[1].library.counts() == counts


def counted(base: PostgresPlace) -> Sequence[tuple[object, ...]]:
    return run(base.name, "select count(*), sum(waiting) from hermes.sessions where head > 0")


# ── from an older schema, from a copy ───────────────────────────────────────────────────────────


async def test_a_database_of_the_first_schema_is_brought_up_to_date(base: PostgresPlace) -> None:
    folder = resources.files("hermes.stores.postgres") / "sql" / "migrations"
    first = (folder / "0001_journal.sql").read_text(encoding="utf-8")
    with psycopg.connect(base.name, autocommit=True) as old:
        old.execute("create schema hermes; set search_path = hermes")
        old.execute(first.encode())
        old.execute(
            """create table schema_version (
                 version bigint primary key, migrated_at timestamptz not null default now());
               insert into schema_version (version) values (1);
               insert into nodes (id, token, started_at, buried) values ('old', 'gone', 1, true);
               insert into sessions (key, id, head, title, waiting) values ('k', 'c', 3, 'Owls', 2);
               insert into conversations (id, key, opened_at) values ('c', 'k', 1);
               insert into messages (session, ordinal, role, at, line)
                 values ('c', 0, 'user', 1, '{"role":"user","text":"hi","at":1.0}');
               insert into outbox (id, key, platform, reply, state, created_at)
                 values ('r', 'k', 'telegram', '', 'abandoned', 1)"""
        )
    store = await base.open()
    counts = await store.library.counts()
    assert (counts.sessions, counts.queued, counts.outbox) == (1, 2, {"abandoned": 1})
    [row] = await store.library.conversations(None, limit=5)
    assert (row.title, row.opening) == ("Owls", "hi")
    await store.nodes.join(A, seat="one")
    await answer(store, A, "1")
    assert (await store.library.counts()).sessions == 2
    await base.close()
    steps = len([file for file in folder.iterdir() if file.name.endswith(".sql")])
    assert run(base.name, "select max(version) from hermes.schema_version") == [(steps,)]
    await base.open()


async def test_a_copy_brings_back_directory_homes_and_titles(
    base: PostgresPlace, tmp_path: Path
) -> None:
    store = await base.open(clock=lambda: 50.0)
    await store.nodes.join(A)
    for number, chat in enumerate(("x", "y")):
        await store.journal.accept(
            replace(message(9, chat, at=float(number)), place=f"Chat {chat}"),
            opens=conversation(chat),
        )
        owner = await begin(store, A, chat)
        await owner.start(chat)
        await owner.finish(chat)
        await owner.write(
            e.FactSet("title", f"About {chat}", 4.0),
            e.HomeSet(Address(platform="telegram", chat=chat), 5.0 + number),
            e.SessionReset(SessionId(f"second-{chat}"), "asked", 6.0),
        )
    before = await shown(store)
    await store.upkeep.backup(str(tmp_path / "copy"))
    await base.close()
    run(base.name, "drop schema hermes cascade")
    await restore(base.name, tmp_path / "copy")
    again = await base.open(clock=lambda: 50.0)
    assert await shown(again) == before
    await again.outbox.pause("telegram", "x", until=60.0)
    due = await again.outbox.due(["telegram"], now=50.0, limit=9)
    assert [row.reply.address.chat for row in due] == ["y"]


async def shown(store: Store) -> Sequence[object]:
    library = store.library
    return (
        await library.chats(limit=9),
        await library.homes(),
        await library.conversations(None, limit=9),
        await library.counts(),
    )
