"""B07, B09 on several machines: parent and children on one PostgreSQL, whichever node dies."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.contract.server import fresh_database, running_server, this_run
from tests.process.cluster import nodes, start
from tests.process.delegating import Boss


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_server(this_run()) as server, fresh_database(server) as found:
        yield found


async def test_b07_another_node_brings_the_work_of_a_dead_one_home_and_stops_reach_it(
    tmp_path: Path, url: str
) -> None:
    held = asyncio.Event()

    async def child(asked: Asked) -> Says:
        await held.wait()
        return Says(f"did {asked.said.rpartition(chr(10))[2]}")

    boss = Boss({"tasks": [{"goal": "one"}, {"goal": "two"}]}, child)
    async with Model(rule=boss).up() as model, nodes(tmp_path, model, [url] * 2) as here:
        await start(here)
        first, second = here
        asking = asyncio.create_task(first.say("go", key="k", limit_s=60.0))

        async def working() -> bool:
            return len(boss.children) >= 2

        await first.until(working, 60.0)
        await first.kill()
        await asyncio.gather(asking, return_exceptions=True)

        async def taken_over() -> bool:
            return len(boss.children) >= 4

        await second.until(taken_over, 60.0)
        held.set()
        said = json.loads((await second.say("go", key="k", limit_s=60.0)).text)
        assert [entry["summary"] for entry in said["results"]] == ["did one", "did two"]
        await first.start()
        held.clear()
        before = len(boss.children)
        asking = asyncio.create_task(second.say("go", "stopped", limit_s=60.0))

        async def again() -> bool:
            return len(boss.children) >= before + 2

        await second.until(again, 60.0)
        await first.say("/stop", "stopped", limit_s=60.0)

        async def over() -> bool:
            rows = await first.hermes("turns", "list", "--json")
            return sum(row["state"] == "stopped" for row in rows) == 3

        await second.until(over, 60.0)
        held.set()
        await asyncio.gather(asking, return_exceptions=True)
