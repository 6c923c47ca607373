"""No reply before its flush, and one flush for everybody who waits."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.crash.fuse import VFS, Fuse, FusedVFS
from tests.crash.world import say

from hermes.core.ids import SessionId
from hermes.core.store import Store
from hermes.stores.sqlite import open_sqlite


@pytest.fixture
async def counted(tmp_path: Path) -> AsyncIterator[tuple[Store, Fuse]]:
    fuse = Fuse()
    files = FusedVFS(fuse)
    store = await open_sqlite(tmp_path / "hermes.db", clock=time.time, vfs=VFS)
    fuse.labels.clear()
    yield store, fuse
    await store.upkeep.close()
    files.unregister()


async def test_a_message_is_acknowledged_only_after_a_flush(
    counted: tuple[Store, Fuse],
) -> None:
    store, fuse = counted
    for number in range(1, 6):
        await store.journal.accept(say(number), opens=SessionId("s1"))
        assert fuse.labels.count("flush") >= number
        assert fuse.labels[-1] == "flush", "something was written behind the flush"


async def test_many_messages_at_once_share_a_few_flushes(counted: tuple[Store, Fuse]) -> None:
    store, fuse = counted
    opens = SessionId("s1")
    await asyncio.gather(*(store.journal.accept(say(n), opens=opens) for n in range(200)))
    assert fuse.labels.count("flush") <= 20
