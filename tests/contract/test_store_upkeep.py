"""Care of the store: its check, its copy, its start from nothing, and what a newer one left."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hermes.core.errors import Fenced, Refused, StoreClosed, StoreFailed, StoreTooNew
from hermes.core.ids import NodeId
from hermes.core.store import Store
from tests.contract.places import (
    A,
    Owner,
    Place,
    begin,
    conversation,
    lane,
    message,
    own,
    positions,
)
from tests.contract.surgery import make_newer, make_older


async def test_a_healthy_store_has_no_problems(store: Store) -> None:
    assert await store.upkeep.check() == []
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    await owner.finish("1")
    assert await store.upkeep.check() == []


async def test_everything_is_there_after_closing_and_opening(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    await owner.finish("1")
    await place.close()
    again = await place.open()
    assert await again.journal.load(lane("1")) == owner.session
    assert len(await again.outbox.due(["telegram"], now=9.0, limit=5)) == 1
    assert (await again.journal.accept(message(0), opens=conversation())).fresh is False


async def test_what_was_asked_before_closing_is_still_written(place: Place) -> None:
    store = await place.open()
    asked = [
        asyncio.create_task(store.journal.accept(message(n), opens=conversation()))
        for n in range(50)
    ]
    await asyncio.sleep(0)
    await place.close()
    assert [(await each).fresh for each in asked] == [True] * 50
    again = await place.open()
    assert len(await positions(again)) == 50


async def test_closing_waits_for_what_runs_and_nothing_is_begun_on_a_closed_store(
    place: Place,
) -> None:
    store = await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)
    await owner.start("1")
    asks: list[Callable[[], Awaitable[object]]] = [
        lambda: store.library.sessions(limit=9),
        store.library.counts,
        lambda: store.library.usage(since=0.0, until=9.0),
        lambda: store.journal.load(lane("1")),
        lambda: store.journal.accept(message(7), opens=conversation()),
        lambda: store.journal.claim(A, limit=1),
        lambda: store.outbox.due(["telegram"], now=9.0, limit=5),
        lambda: store.texts.text("0" * 64),
        lambda: store.audit.entries(limit=9),
        lambda: store.nodes.wake(9.0),
    ]

    async def outcome(ask: Callable[[], Awaitable[object]]) -> str:
        try:
            await ask()
        except StoreClosed:
            return "closed"
        except Fenced:
            return "left"  # the node has, just before
        return "done"

    under_way = [asyncio.create_task(outcome(ask)) for ask in asks for _ in range(3)]
    await asyncio.sleep(0)
    await place.close()
    async with asyncio.timeout(10):
        assert set(await asyncio.gather(*under_way)) <= {"done", "closed", "left"}
        assert [await outcome(ask) for ask in asks] == ["closed"] * len(asks)


async def test_a_closed_store_frees_its_lanes_at_once(place: Place) -> None:
    store = await place.open(lease_s=60)
    await store.nodes.join(A)
    await begin(store, A)
    await place.close()
    again = await place.open(lease_s=60)
    await again.nodes.join(NodeId("next"))
    assert len(await again.journal.claim(NodeId("next"), limit=5)) == 1


async def test_many_processes_may_start_on_an_empty_store_at_once(place: Place) -> None:
    stores = await asyncio.gather(*(place.open() for _ in range(6)))
    accepted = await asyncio.gather(
        *(s.journal.accept(message(n), opens=conversation()) for n, s in enumerate(stores))
    )
    assert sorted(each.position for each in accepted) == list(range(1, 7))


async def test_a_store_of_a_newer_version_is_refused_and_left_alone(place: Place) -> None:
    store = await place.open()
    await store.journal.accept(message(0), opens=conversation())
    await place.close()
    undo = make_newer(place.name)
    with pytest.raises(StoreTooNew, match="newer Hermes"):
        await place.open()
    undo()
    assert await positions(await place.open()) == ["MessageReceived"]


async def test_a_store_that_was_never_migrated_is_brought_up_to_date(place: Place) -> None:
    make_older(place.name)
    store = await place.open()
    assert (await store.journal.accept(message(0), opens=conversation())).fresh is True


async def test_a_copy_is_made_while_others_write(place: Place, tmp_path: Path) -> None:
    store = await place.open()
    await store.nodes.join(A)
    owner = await begin(store, A)
    writing = asyncio.create_task(_write(owner))
    await asyncio.sleep(0.05)
    target = tmp_path / "copy"
    await store.upkeep.backup(str(target))
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    assert target.stat().st_size > 0
    assert target.stat().st_mode & 0o077 == 0
    assert halves(tmp_path) == []


def halves(folder: Path) -> list[Path]:
    return list(folder.glob(".*.half"))


async def _write(owner: Owner) -> None:
    for number in range(10_000):
        await owner.note(str(number))


async def test_a_copy_into_a_folder_that_is_not_there_says_so(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreFailed):
        await store.upkeep.backup(str(tmp_path / "missing" / "copy"))


async def test_an_owner_may_be_cancelled_in_the_middle_of_a_write(store: Store) -> None:
    """What it asked for last may still be written; whoever had not seen that is told so."""
    await store.nodes.join(A)
    owner = await begin(store, A)
    for number in range(10):
        task = asyncio.create_task(owner.note(str(number)))
        for _ in range(number % 4):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        owner = await own(store, A)
    try:
        await owner.note("last")
    except Refused:
        await (await own(store, A)).note("last")
    assert await store.upkeep.check() == []
