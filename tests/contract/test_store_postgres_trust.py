"""What only PostgreSQL has to get right about trust: lost confirmations, batches, many chains."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from hermes.core import events as e
from hermes.core.errors import Outdated
from hermes.core.ids import CallId, NodeId
from hermes.core.messages import Effect
from hermes.core.projection import Commit, commit_of
from hermes.core.store import Store
from hermes.stores.postgres.copies import restore
from tests.contract import approvals
from tests.contract.approvals import ask, call, grant, invite, known, request
from tests.contract.places import (
    A,
    B,
    Owner,
    PostgresPlace,
    begin,
    conversation,
    lane,
    message,
    turn,
)
from tests.contract.server import fresh_database
from tests.contract.surgery import run
from tests.contract.wire import Wire


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
    place = PostgresPlace(wire.url)
    yield await place.open()
    await place.close()


def started(owner: Owner, chat: str, wanted: CallId, trust_version: int) -> Commit:
    event = e.CallStarted(turn(chat), wanted, Effect.EFFECT, owner.fence.epoch, 6.0)
    return commit_of(owner.session, (event,), trust_version=trust_version)


async def test_a_refused_call_beside_others_leaves_a_sound_log(base: PostgresPlace) -> None:
    """All are sealed one over another before anybody knows which of them is refused."""
    store = await base.open()
    await store.nodes.join(A)
    owners = {name: await begin(store, A, name) for name in ("a", "b", "c", "d")}
    calls = {name: await call(owner, name) for name, owner in owners.items()}
    await store.trust.admit(known("ann"))
    version = await store.trust.version()
    done = await asyncio.gather(
        *(
            store.journal.append(
                started(owner, name, calls[name], version - (name in "ac")), fence=owner.fence
            )
            for name, owner in owners.items()
        ),
        return_exceptions=True,
    )
    assert [type(each) for each in done] == [Outdated, int, Outdated, int]
    log = await store.audit.entries(limit=99)
    assert sorted(row.entry.kind for row in log) == ["admitted", "started", "started"]
    assert await store.audit.check(await store.audit.heads()) == []
    for name in ("b", "d"):
        assert len(await store.audit.entries(limit=9, session=lane(name))) == 1


async def test_a_call_whose_commit_is_not_confirmed_is_in_the_log_once(
    wire: Wire, wired: Store
) -> None:
    await wired.nodes.join(A)
    owner = await begin(wired, A, "x")
    wanted = await ask(owner, "x", "q")
    wire.cut_after_next()
    await approvals.answer(owner, "x", wanted, True, always=grant("q"))
    assert wire.cuts == 1
    await approvals.run(owner, "x", wanted)
    log = await wired.audit.entries(limit=99)
    kinds = [row.entry.kind for row in log]
    assert kinds == ["asked", "approved", "granted", "started", "ended"]
    assert await wired.audit.check(await wired.audit.heads()) == []
    assert [each.id for each in (await wired.trust.register()).grants] == ["q"]
    assert await wired.trust.version() == 1


@pytest.mark.parametrize("after", range(13))
async def test_who_is_let_in_while_the_wire_is_cut_is_let_in_once(
    wire: Wire, wired: Store, after: int
) -> None:
    """Cut behind each of its requests in turn; the last of them is the commit."""
    await wired.trust.invite(invite("d"))
    wire.cut_after(after)
    let_in = await wired.trust.redeem("d", known("ann"))
    assert let_in == known("ann")
    assert await wired.trust.version() == 1
    kinds = [row.entry.kind for row in await wired.audit.entries(limit=9)]
    assert kinds == ["invited", "redeemed"]
    assert await wired.audit.check({}) == []


async def test_a_revocation_waits_for_what_was_decided_before_it(base: PostgresPlace) -> None:
    """A batch that has read the version holds it until its commit; so there is no gap in which it
    could be written after the revocation was done."""
    store = await base.open()
    async with await psycopg.AsyncConnection.connect(base.name) as batch:
        await batch.execute("select version from hermes.standing where one")
        revoking = asyncio.create_task(store.trust.revoke(known("ann")))
        waits = "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and not granted"
        while not run(base.name, waits)[0][0]:  # noqa: ASYNC110 (an event of the server)
            await asyncio.sleep(0.01)
        assert not revoking.done()
        await batch.commit()
        await revoking
    assert await store.trust.version() == 1


async def test_a_revocation_gets_its_turn_among_writers_that_never_stop(
    base: PostgresPlace,
) -> None:
    stores = [await base.open(), await base.open()]
    for store, node in zip(stores, (A, B), strict=True):
        await store.nodes.join(node)
    owners = [await begin(stores[n % 2], (A, B)[n % 2], f"c{n}") for n in range(6)]
    stop = asyncio.Event()

    async def work(owner: Owner, chat: str) -> None:
        for number in count(1):
            start = e.TurnStarted(
                turn(f"{chat}-{number}"),
                tuple(f"{inbound.account}#{inbound.id}" for inbound in owner.session.waiting),
                owner.fence.epoch,
                2.0,
            )
            await begun(owner, start)
            await owner.write(e.TurnInterrupted(start.turn, "stopped", 3.0))
            if stop.is_set():
                return
            await owner.store.journal.accept(message(number, chat), opens=conversation(chat))
            owner.session = await owner.store.journal.load(lane(chat))

    working = [asyncio.create_task(work(owner, f"c{n}")) for n, owner in enumerate(owners)]
    for round_ in range(5):
        await stores[round_ % 2].trust.revoke(known(f"p{round_}"))
    stop.set()
    await asyncio.gather(*working)
    assert await stores[0].trust.version() == 5


async def begun(owner: Owner, event: e.Event) -> None:
    """Decided again until it is by the register that stands."""
    while True:
        trust_version = await owner.store.trust.version()
        commit = commit_of(owner.session, (event,), trust_version=trust_version)
        with contextlib.suppress(Outdated):
            await owner.store.journal.append(commit, fence=owner.fence)
            owner.session = commit.after
            return


async def test_a_copy_holds_who_may_come_in_and_the_log(
    base: PostgresPlace, postgres_server: str, tmp_path: Path
) -> None:
    store = await base.open()
    await store.nodes.join(A)
    owner = await begin(store, A, "x")
    wanted = await ask(owner, "x", "q")
    await approvals.answer(owner, "x", wanted, True, always=grant("q"))
    await store.trust.invite(invite("d"))
    await store.trust.redeem("d", known("ann"))
    await store.trust.ask(request("bob"), most=5)
    await store.upkeep.backup(str(tmp_path / "copy"))
    register, log = await store.trust.register(), await store.audit.entries(limit=99)
    with fresh_database(postgres_server) as url:
        await restore(url, tmp_path / "copy")
        place = PostgresPlace(url)
        again = await place.open()
        assert await again.trust.register() == register
        assert await again.audit.entries(limit=99) == log
        assert await again.trust.requests() == [request("bob")]
        assert await again.audit.check(await store.audit.heads()) == []
        assert await again.trust.redeem("d", known("eve")) is None
        assert [row.id for row in await again.library.questions(limit=9)] == ["q"]
        await place.close()


async def test_each_process_has_a_chain_and_all_share_one(base: PostgresPlace) -> None:
    stores = [await base.open() for _ in range(3)]
    await stores[0].nodes.join(A)
    for number, store in enumerate(stores):
        await store.nodes.join(NodeId(f"n{number}"))
        await call_in(store, f"n{number}", f"c{number}")
        await store.trust.admit(known(f"p{number}"))
    heads = await stores[0].audit.heads()
    assert len(heads) == 4
    assert heads["main"].seq == 3
    assert await stores[0].audit.check(heads) == []
    written = sum(head.seq for head in heads.values())
    assert await stores[1].audit.prune(1_000.0, at=50.0) == written
    assert await stores[2].audit.check(heads) == []
    await call_in(stores[1], "n1", "later")
    assert await stores[0].audit.check(await stores[0].audit.heads()) == []


async def call_in(store: Store, node: str, chat: str) -> None:
    owner = await begin(store, NodeId(node), chat)
    wanted = await call(owner, chat)
    await owner.write(e.CallStarted(turn(chat), wanted, Effect.EFFECT, owner.fence.epoch, 6.0))
