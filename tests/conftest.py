"""What tests of any kind may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.quick import quick_folder


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """Like tmp_path, but in memory where that is possible."""
    with quick_folder() as folder:
        yield folder
