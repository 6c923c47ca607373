"""Each contract test runs on every store: an SQLite file, and a real PostgreSQL."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hermes.core.store import Store
from tests.contract.places import Place, PostgresPlace, SqlitePlace
from tests.contract.server import fresh_database, running_server, this_run


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with running_server(this_run()) as url:
        yield url


@pytest.fixture
def database(postgres_server: str) -> Iterator[str]:
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
async def place(request: pytest.FixtureRequest, quick_path: Path) -> AsyncIterator[Place]:
    """Where a store lives; it can be opened more than once."""
    chosen: Place
    if request.param == "postgres":
        chosen = PostgresPlace(request.getfixturevalue("database"))
    else:
        chosen = SqlitePlace(str(quick_path / "hermes.db"))
    yield chosen
    await chosen.close()


@pytest.fixture
async def store(place: Place) -> Store:
    return await place.open()
