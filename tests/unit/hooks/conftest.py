"""A fresh home for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.hooks.world import World, world_in


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with world_in(tmp_path) as made:
        yield made
