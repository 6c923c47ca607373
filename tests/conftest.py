"""What tests of any kind may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.quick import quick_folder

# An example may take long where others share the machine: time is measured in bench/.
slow = [HealthCheck.too_slow]
settings.register_profile("shared", settings(), deadline=None, suppress_health_check=slow)
settings.load_profile("shared")


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """Like tmp_path, but in memory where that is possible."""
    with quick_folder() as folder:
        yield folder
