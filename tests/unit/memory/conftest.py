"""A shelf for each test."""

from pathlib import Path

import pytest

from tests.unit.memory.shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "memories")
