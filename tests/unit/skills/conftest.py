"""A workshop for each test."""

from pathlib import Path

import pytest

from tests.unit.skills.workshop import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)
