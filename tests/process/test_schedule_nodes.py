"""Jobs of several gateways on one PostgreSQL: each occurrence runs once, whichever node dies."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hermes.testing.model import Model
from tests.contract.server import fresh_database, running_server, this_run
from tests.process.cluster import effects, has_ended, nodes, open_commands, start, until, worker
from tests.process.gateway import GatewayProcess
from tests.process.jobs import history, make, runs

JOBS = 9
TAKEN_OVER_S = 120.0


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running_server(this_run()) as url:
        yield url


@pytest.fixture
def url(server: str) -> Iterator[str]:
    with fresh_database(server) as url:
        yield url


async def test_a06_nodes_die_one_by_one_and_each_occurrence_runs_once(
    tmp_path: Path, url: str
) -> None:
    async with Model(rule=worker).up() as model, nodes(tmp_path, model, [url] * 3) as here:
        await start(here)
        jobs = await asyncio.gather(*(_job(here[n % 3], f"w{n}") for n in range(JOBS)))
        await until(lambda: any(open_commands(node) for node in here), 60.0)
        await max(here, key=open_commands).kill()  # in the middle of runs
        second, last = [node for node in here if not has_ended(node)]
        await _all_ran_once(last, jobs)
        more = await asyncio.gather(*(_job(second, f"v{n}") for n in range(JOBS // 2)))
        await second.kill()  # before they are due
        await _all_ran_once(last, more)
        assert set(effects(tmp_path).values()) == {1}, "what was lost in the kill is not repeated"


async def _job(here: GatewayProcess, word: str) -> str:
    return await make(here, "in 4s", name=word, prompt=f"do {word}")


async def _all_ran_once(here: GatewayProcess, jobs: Sequence[str]) -> None:
    async def all_ran() -> bool:
        return all([await runs(here, job) for job in jobs])

    await until(all_ran, TAKEN_OVER_S)
    for job in jobs:
        rows = await history(here, job)
        assert [row["state"] in ("done", "late") for row in rows] == [True], rows
