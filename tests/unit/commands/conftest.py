"""A town on a real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.stores.sqlite import open_sqlite
from tests.unit.commands.chats import NODE, Town


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    made = Town()
    made.store = await open_sqlite(tmp_path / "hermes.db", clock=lambda: made.now)
    try:
        await made.store.nodes.join(NODE)
        yield made
    finally:
        await made.store.upkeep.close()
