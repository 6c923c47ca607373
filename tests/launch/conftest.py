"""Fixtures for the tests of setting up: a fresh checkout on a bare machine."""

from pathlib import Path

import pytest

from launch.checkouts import Checkout, make_checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path)
