"""What only PostgreSQL can do to us: cut connections, unknown commits, foreign locks, roles."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from hermes.core import events as e
from hermes.core.errors import (
    Rejected,
    StoreBusy,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
)
from hermes.core.ids import SessionId, TurnId
from hermes.core.projection import commit_of
from hermes.core.store import Store
from hermes.stores.postgres import open_postgres, restore
from hermes.stores.postgres.failures import explained
from tests.contract.kids import kid
from tests.contract.places import (
    A,
    B,
    PostgresPlace,
    alive,
    begin,
    conversation,
    lane,
    message,
    own,
    positions,
)
from tests.contract.surgery import run
from tests.contract.test_store_histories import play
from tests.contract.test_store_processes import LEASE_S, claimed, notes
from tests.contract.wire import Wire

SESSIONS = 64


@pytest.fixture
async def base(database: str) -> AsyncIterator[PostgresPlace]:
    place = PostgresPlace(database)
    yield place
    await place.close()


@pytest.fixture
async def wire(database: str, tmp_path: Path) -> AsyncIterator[Wire]:
    async with Wire(database, tmp_path).up() as up:
        yield up


@pytest.fixture
async def wired(wire: Wire) -> AsyncIterator[Store]:
    """A store whose every byte goes over the wire."""
    place = PostgresPlace(wire.url)
    yield await place.open()
    await place.close()


def cut_all(place: PostgresPlace) -> None:
    run(
        place.name,
        """select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()""",
    )


def dbname(place: PostgresPlace) -> str:
    return urlsplit(place.name).path.removeprefix("/")


async def test_many_sessions_share_one_transaction(base: PostgresPlace) -> None:
    store = await base.open()
    await store.nodes.join(A)
    chats = [f"c{number}" for number in range(SESSIONS)]
    await asyncio.gather(
        *(store.journal.accept(message(0, chat), opens=conversation(chat)) for chat in chats)
    )
    owners = [await own(store, A, chat) for chat in chats]
    await asyncio.gather(*(owner.note("x") for owner in owners))
    for kind in ("message_received.1", "fact_set.1"):
        counted = f"select count(distinct xmin::text) from hermes.journal where kind = '{kind}'"  # noqa: S608
        [(transactions,)] = run(base.name, counted)
        assert int(str(transactions)) <= 3


async def test_an_append_whose_commit_is_not_confirmed_is_written_once(
    wire: Wire, wired: Store
) -> None:
    await wired.nodes.join(A)
    owner = await begin(wired, A)
    await owner.note("before")
    wire.cut_after_next()
    assert await owner.note("in doubt") == 3
    assert wire.cuts == 1
    assert await owner.note("after") == 4
    assert await notes(wired) == ["before", "in doubt", "after"]


async def test_an_answer_whose_commit_is_not_confirmed_is_sent_once(
    wire: Wire, wired: Store
) -> None:
    await wired.nodes.join(A)
    owner = await begin(wired, A)
    await owner.start("1")
    wire.cut_after_next()
    await owner.finish("1")
    [row] = await wired.outbox.due(["telegram"], now=9.0, limit=5)
    wire.cut_after_next()
    assert await wired.outbox.sending(row.reply.id, node=A) is True
    wire.cut_after_next()
    await wired.outbox.delivered(row.reply.id, "r", at=5.0)
    assert wire.cuts == 3
    [row] = await wired.outbox.rows(lane("1"), limit=5)
    assert row.state == "delivered"


async def test_a_message_whose_commit_is_not_confirmed_is_journaled_once(
    wire: Wire, wired: Store
) -> None:
    await wired.journal.accept(message(0), opens=conversation())
    wire.cut_after_next()
    accepted = await wired.journal.accept(message(1), opens=conversation())
    assert (accepted.position, wire.cuts) == (2, 1)
    assert await positions(wired) == ["MessageReceived", "MessageReceived"]


async def test_a_rest_whose_commit_is_not_confirmed_holds(wire: Wire, wired: Store) -> None:
    await wired.nodes.join(A)
    owner = await begin(wired, A)
    await owner.note("x")
    wire.cut_after_next()
    assert await owner.rest() is True
    assert await wired.journal.owned(A, limit=5) == []


async def test_connections_that_are_cut_all_the_time_lose_and_double_nothing(
    base: PostgresPlace,
) -> None:
    store = await base.open()
    await store.nodes.join(A)
    owners = [await begin(store, A, f"c{number}") for number in range(8)]

    async def work(index: int) -> None:
        for number in range(25):
            await owners[index].note(str(number))
            await store.journal.load(lane(f"c{index}"))

    async def cut() -> None:
        for _ in range(6):
            await asyncio.sleep(0.15)
            await asyncio.to_thread(cut_all, base)

    await asyncio.gather(cut(), *(work(index) for index in range(8)))
    for index in range(8):
        assert await notes(store, f"c{index}") == [str(number) for number in range(25)]
    assert await store.nodes.beat(A) is True
    assert await store.upkeep.check() == []


async def test_a_listener_that_was_cut_hears_again(base: PostgresPlace) -> None:
    store, other = await base.open(), await base.open()
    await store.nodes.join(A)
    await asyncio.to_thread(cut_all, base)
    for number in range(3):
        await store.nodes.wake(1.0)
        await other.journal.accept(message(number), opens=conversation())
    async with asyncio.timeout(60):
        await store.nodes.wake(60.0)


async def test_c62_a_buried_process_holds_no_locks(base: PostgresPlace) -> None:
    """It was stopped in the middle of a batch: its transaction is open and has rows locked."""
    store, other = await base.open(lease_s=LEASE_S), await base.open(lease_s=LEASE_S)
    await store.nodes.join(A)
    await begin(store, A)
    [(token,)] = run(base.name, "select token from hermes.nodes where id = 'node-a'")
    name = f"hermes-{token}"
    with psycopg.connect(base.name, application_name=name) as stopped:
        stopped.execute("select from hermes.sessions for update")
        async with alive(other, B):
            [claim] = await claimed(other, B)
        assert claim.key == lane("1")
        assert (await store.nodes.beat(A)) is False
        with pytest.raises(psycopg.OperationalError):
            stopped.execute("select 1")


async def test_c62_a_process_stopped_in_the_middle_of_writing_leaves_one_history(
    base: PostgresPlace,
) -> None:
    """On SQLite it would hold the file's only lock: nobody could write, nor take over."""
    store = await base.open(lease_s=LEASE_S)
    async with kid(base.name, lease_s=LEASE_S) as child, alive(store, B):
        await child.ask("join", A)
        await child.ask("begin", A, "1")
        child.tell("flood", "1")
        heard = [await child.hear() for _ in range(10)]
        child.freeze()
        await claimed(store, B)
        owner = await own(store, B)
        theirs = len(await notes(store))
        await owner.note("mine now")
        child.wake()
        while isinstance(said := await child.hear(), int):
            heard.append(said)
        assert said[:2] == ["error", "Fenced"]
        assert heard == list(range(2, len(heard) + 2))
        assert theirs in (len(heard), len(heard) + 1)  # the last may be written and not confirmed
        assert await notes(store) == [*(str(number) for number in range(theirs)), "mine now"]
    assert await store.upkeep.check() == []


async def test_one_operation_that_the_server_finds_wrong_fails_alone(base: PostgresPlace) -> None:
    store = await base.open()
    await store.nodes.join(A)
    owners = [await begin(store, A, f"c{number}") for number in range(6)]
    odd = commit_of(
        owners[3].session,
        [
            e.TurnStarted(
                TurnId("nul \0"),
                (f"telegram:bot#{message(0, 'c3').id}",),
                owners[3].fence.epoch,
                2.0,
            )
        ],
    )
    writes = [owner.note("x") for owner in owners if owner is not owners[3]]
    done = await asyncio.gather(
        *writes,
        store.journal.append(odd, fence=owners[3].fence),
        store.journal.accept(message(1, "new"), opens=conversation("new")),
        return_exceptions=True,
    )
    assert done[:5] == [2] * 5
    assert isinstance(done[5], StoreFailed)
    assert not isinstance(done[6], BaseException)
    assert await positions(store, "c3") == ["MessageReceived"]
    assert await positions(store, "new") == ["MessageReceived"]


async def test_a_row_that_somebody_holds_locked_stops_only_its_own_lane(
    base: PostgresPlace,
) -> None:
    store = await base.open()
    await store.nodes.join(A)
    owners = [await begin(store, A, f"c{number}") for number in range(4)]
    with psycopg.connect(base.name) as other:
        other.execute("select from hermes.sessions where key = %s for update", (lane("c2"),))
        done = await asyncio.gather(*(o.note("x") for o in owners), return_exceptions=True)
    assert [type(each) for each in done] == [int, int, StoreBusy, int]
    assert await owners[2].note("free again") == 2


async def test_a_message_to_a_lane_that_is_deleted_meanwhile_opens_it_anew(
    base: PostgresPlace,
) -> None:
    store = await base.open()
    await store.journal.accept(message(0), opens=SessionId("old"))
    with psycopg.connect(base.name) as other:
        other.execute("delete from hermes.sessions")
        other.execute("delete from hermes.tally")
        other.execute("truncate hermes.journal, hermes.inbox, hermes.awake, hermes.conversations")
        asked = asyncio.create_task(store.journal.accept(message(1), opens=SessionId("new")))
        await asyncio.sleep(0.3)
        assert not asked.done()
        other.commit()
    assert (await asked).position == 1
    assert (await store.journal.load(lane("1"))).id == "new"
    assert await store.upkeep.check() == []


async def test_ids_that_cannot_be_kept_are_refused_at_the_door(base: PostgresPlace) -> None:
    store = await base.open()
    with pytest.raises(Rejected):
        await store.journal.accept(message("nul\0"), opens=conversation())
    with pytest.raises(Rejected):
        await store.journal.accept(message(1, text="half \ud83e"), opens=conversation())
    assert (await store.journal.accept(message(1), opens=conversation())).position == 1


async def test_two_nodes_that_write_to_everything_at_once_do_not_block_each_other(
    base: PostgresPlace,
) -> None:
    stores = [await base.open(), await base.open()]
    chats = [f"c{number}" for number in range(16)]
    for store, node in zip(stores, (A, B), strict=True):
        await store.nodes.join(node)
    owners = [
        await begin(stores[number % 2], (A, B)[number % 2], chat)
        for number, chat in enumerate(chats)
    ]
    dice = random.Random(7)

    async def talk(store: Store, number: int) -> None:
        chat = dice.choice(chats)
        await store.journal.accept(message(f"n{number}", chat), opens=conversation(chat))

    async def work(index: int) -> None:
        for number in range(12):
            await owners[index].note(str(number))
            await owners[index].rest()

    async with asyncio.timeout(30):
        await asyncio.gather(
            *(talk(dice.choice(stores), number) for number in range(300)),
            *(work(index) for index in range(len(chats))),
        )
    assert await stores[0].upkeep.check() == []


async def test_a_server_that_takes_no_writes_says_so(base: PostgresPlace) -> None:
    store = await base.open()
    await store.journal.accept(message(0), opens=conversation())
    await base.close()
    run(base.name, f"alter database {dbname(base)} set default_transaction_read_only = on")
    store = await base.open()
    with pytest.raises(StoreReadOnly):
        await store.journal.accept(message(1), opens=conversation())
    assert await positions(store) == ["MessageReceived"]


async def test_a_server_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreBusy, match="PostgreSQL"):
        await open_postgres(f"postgresql://postgres@/none?host={tmp_path}", clock=lambda: 0.0)


async def test_a_database_that_is_not_there_is_said_at_once(postgres_server: str) -> None:
    with pytest.raises(StoreFailed, match="does not exist"):
        await open_postgres(postgres_server.format("missing"), clock=lambda: 0.0)


def test_a_full_disk_is_said() -> None:
    full = psycopg.errors.DiskFull("could not extend file")
    assert isinstance(explained(full), StoreFull)


async def test_a_closed_store_refuses(base: PostgresPlace) -> None:
    store = await base.open()
    await base.close()
    with pytest.raises(StoreFailed, match="closed"):
        await store.journal.accept(message(0), opens=conversation())


async def test_a_copy_is_the_same_in_an_empty_database(
    base: PostgresPlace, postgres_server: str, tmp_path: Path
) -> None:
    store = await base.open()
    await store.nodes.join(A)
    await store.nodes.join(B)
    for seed in range(3):
        await play(store, random.Random(seed), f"s{seed}")
    await store.upkeep.backup(str(tmp_path / "copy"))
    await base.close()
    run(base.name, "alter schema hermes rename to gone")
    await restore(base.name, tmp_path / "copy")
    again = await base.open()
    assert await again.upkeep.check() == []
    for table in ("journal", "inbox", "messages", "turns", "conversations"):
        columns = "to_jsonb(t) - 'n'"
        old, new = (
            run(base.name, f"select {columns} from {schema}.{table} t order by 1")  # noqa: S608
            for schema in ("gone", "hermes")
        )
        assert old == new, table
    with pytest.raises(Rejected):
        await restore(base.name, tmp_path / "copy")


async def test_a_copy_that_was_cut_is_not_restored(base: PostgresPlace, tmp_path: Path) -> None:
    store = await base.open()
    await store.journal.accept(message(0), opens=conversation())
    copy = tmp_path / "copy"
    await store.upkeep.backup(str(copy))
    copy.write_bytes(copy.read_bytes()[:-20])
    await base.close()
    run(base.name, "drop schema hermes cascade")
    with pytest.raises(StoreFailed, match="damaged"):
        await restore(base.name, copy)
    assert await positions(await base.open()) == []
