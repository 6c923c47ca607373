"""What tests of any kind may ask for."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.quick import quick_folder, sweep

# An example may take long where others share the machine: time is measured in bench/.
slow = [HealthCheck.too_slow]
settings.register_profile("shared", settings(), deadline=None, suppress_health_check=slow)
settings.load_profile("shared")

HERE = Path(__file__).parent
# What is tested here must never happen, not even once in a hundred runs.
ONCE = ("attacks", "crash", "faults", "simulation", "unit/core", "unit/egress", "unit/secrets")


def pytest_configure() -> None:
    """A run in the background of a shell ignores Ctrl+C, and so would all that it starts."""
    sweep()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give no second chance where it could hide a breach: in these folders, and where marked."""
    if not config.getoption("reruns", None):
        return
    folders = [HERE / folder for folder in ONCE]
    for item in items:
        strict = any(item.path.is_relative_to(folder) for folder in folders)
        if strict or item.get_closest_marker("once"):
            item.add_marker(pytest.mark.flaky(reruns=0), append=False)


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """Like tmp_path, but in memory where that is possible."""
    with quick_folder() as folder:
        yield folder
