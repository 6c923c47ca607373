"""How far a platform has been read: kept over everything, moved only by a node that is alive."""

import time
from pathlib import Path

import pytest

from hermes.core.errors import Fenced, Rejected
from hermes.core.ids import NodeId
from hermes.core.store import Store
from hermes.stores.postgres import copies
from hermes.stores.texts import CURSOR_CHARS_MAX
from tests.contract.kids import kid
from tests.contract.places import (
    A,
    B,
    Place,
    PostgresPlace,
    SqlitePlace,
    alive,
    begin,
    conversation,
    message,
)
from tests.contract.server import fresh_database

LEASE_S = 2.0
SOON_S = 90.0


async def read(store: Store, name: str = "events", *, account: str = "bot") -> str:
    return await store.cursors.cursor("plaza", account, name)


async def move(store: Store, text: str, *, name: str = "events", node: NodeId = A) -> None:
    await store.cursors.move_cursor("plaza", "bot", name, text, node=node)


async def test_a_cursor_that_was_never_moved_is_empty(store: Store) -> None:
    assert await read(store) == ""


async def test_a_cursor_is_named_by_platform_account_and_name(store: Store) -> None:
    await store.nodes.join(A)
    await move(store, "17")
    await move(store, "99", name="channel 5")
    await store.cursors.move_cursor("square", "bot", "events", "3", node=A)
    assert await read(store) == "17"
    assert await read(store, "channel 5") == "99"
    assert await read(store, account="another bot") == ""
    assert await store.cursors.cursor("square", "bot", "events") == "3"


async def test_a_cursor_moves_to_any_text_and_an_empty_one_removes_it(store: Store) -> None:
    await store.nodes.join(A)
    await move(store, "18")
    await move(store, '{"session": "✓", "seq": 7}')
    assert await read(store) == '{"session": "✓", "seq": 7}'
    await move(store, "5")
    assert await read(store) == "5", "a platform's positions have an order of their own"
    await move(store, "")
    await move(store, "")
    assert await read(store) == ""


async def test_what_no_store_can_keep_is_left_out_of_a_cursor(store: Store) -> None:
    await store.nodes.join(A)
    await move(store, "a\0b\ud800c", name="odd\0name")
    assert await read(store, "odd\0name") == "ab?c"


async def test_a_cursor_that_is_too_long_is_refused_and_the_old_one_stays(store: Store) -> None:
    await store.nodes.join(A)
    await move(store, "17")
    await move(store, "x" * CURSOR_CHARS_MAX, name="long")
    with pytest.raises(Rejected, match="plaza/events is longer than 16,384 characters"):
        await move(store, "x" * (CURSOR_CHARS_MAX + 1))
    assert await read(store) == "17"


async def test_c70_another_node_reads_on_where_the_first_one_stopped(place: Place) -> None:
    ours, other = await place.open(), await place.open()
    await ours.nodes.join(A)
    await other.nodes.join(B)
    await move(ours, "17")
    await ours.nodes.leave(A)
    assert await read(other) == "17"
    await move(other, "18", node=B)
    assert await read(ours) == "18"


async def test_c70_a_node_that_left_moves_no_cursor(place: Place) -> None:
    ours, other = await place.open(), await place.open()
    await ours.nodes.join(A)
    await other.nodes.join(B)
    await move(ours, "17")
    await ours.nodes.leave(A)
    await move(other, "20", node=B)
    for text in ("18", ""):
        with pytest.raises(Fenced):
            await move(ours, text)
    with pytest.raises(Fenced):
        await move(ours, "18", node=NodeId("never joined"))
    assert await read(ours) == "20"


async def test_c70_a_node_that_slept_past_its_lease_moves_no_cursor(place: Place) -> None:
    store = await place.open(lease_s=LEASE_S)
    async with kid(place.name, lease_s=LEASE_S) as child, alive(store, B):
        await child.ask("join", A)
        await child.ask("move_cursor", A, "17")
        await child.ask("hold", A, "channel:plaza")
        await child.stop()
        deadline = time.monotonic() + SOON_S
        while not await store.nodes.hold(B, "channel:plaza"):
            assert time.monotonic() < deadline, "the sleeping node keeps its connection"
            await store.nodes.wake(0.05)
        await move(store, "20", node=B)
        child.wake()
        assert (await child.ask("move_cursor", A, "18"))[:2] == ["error", "Fenced"]
    assert await read(store) == "20"


async def test_c70_killed_before_the_cursor_moved_the_message_is_read_again_and_known(
    place: Place,
) -> None:
    store = await place.open(lease_s=60)
    await store.nodes.join(B)
    async with kid(place.name, lease_s=60) as child:
        await child.ask("join", A)
        for number in (1, 2):
            assert await child.ask("accept", number, "1") is True
            if number == 1:
                await child.ask("move_cursor", A, "1")
        await child.kill()
    behind = [number for number in (1, 2, 3) if number > int(await read(store))]
    fresh = [
        (await store.journal.accept(message(number), opens=conversation())).fresh
        for number in behind
    ]
    assert (behind, fresh) == ([2, 3], [False, True])


async def test_a_cursor_is_there_after_closing_and_after_a_rebuild(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(A)
    await begin(store, A)
    await move(store, "17")
    await store.library.rebuild()
    await place.close()
    assert await read(await place.open()) == "17"


async def test_a_copy_holds_the_cursors(place: Place, tmp_path: Path, postgres_server: str) -> None:
    store = await place.open()
    await store.nodes.join(A)
    await move(store, "17")
    target = tmp_path / "copy"
    await store.upkeep.backup(str(target))
    await move(store, "18")
    await place.close()
    if isinstance(place, PostgresPlace):
        with fresh_database(postgres_server) as url:
            await copies.restore(url, target)
            await _holds(PostgresPlace(url), "17")
    else:
        await _holds(SqlitePlace(str(target)), "17")


async def _holds(place: Place, text: str) -> None:
    store = await place.open()
    assert await read(store) == text
    await place.close()
