"""A cleared desk for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.tools.tool_context import Desk


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    yield made
    await made.clear()
