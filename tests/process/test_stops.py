"""A clean stop leaves a clean log, however busy the gateway is."""

import asyncio
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.testing.model import Asked, Model, Says, plain
from tests.contract.server import fresh_database, running_server, this_run
from tests.process.gateway import GatewayProcess, gateway

STOPS = 3
PEOPLE = 12


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    if request.param == "sqlite":
        yield {}
        return
    with running_server(this_run()) as server, fresh_database(server) as url:
        yield {"store": {"url": url}}


async def test_many_stops_under_load_leave_no_error_in_the_log(
    tmp_path: Path, store: dict[str, Any]
) -> None:
    chance = random.Random(7)

    async def rule(asked: Asked) -> Says:
        await asyncio.sleep(chance.random() * 0.05)
        return plain(asked)

    settings = {"gateway": {"drain_timeout_s": 0.2}, **store}
    async with Model(rule=rule).up() as model, gateway(tmp_path, model, **settings) as here:
        here.extra["PYTHONWARNINGS"] = "error,ignore::ResourceWarning"
        for boot in range(STOPS):
            await here.start()
            people = [asyncio.create_task(_talk(here, f"{boot}-{n}")) for n in range(PEOPLE)]
            people += [asyncio.create_task(_look(here)) for _ in range(4)]
            await asyncio.sleep(0.3 + chance.random() * 0.4)
            assert await here.stop() == 0
            for person in people:
                person.cancel()
            await asyncio.gather(*people, return_exceptions=True)
    assert _errors(here) == []


async def _talk(here: GatewayProcess, name: str) -> None:
    number = 0
    while True:
        number += 1
        try:
            await here.say(f"hello {number}", name, key=f"{name}-{number}", limit_s=5.0)
        except httpx2.TransportError:
            await asyncio.sleep(0.01)


async def _look(here: GatewayProcess) -> None:
    """Read listings, which are the slowest reads."""
    while True:
        try:
            await here.get("/v1/sessions")
            await here.get("/metrics")
        except (httpx2.TransportError, httpx2.HTTPStatusError, ValueError):
            await asyncio.sleep(0.01)


def _errors(here: GatewayProcess) -> list[str]:
    log = (here.home / "logs" / "hermes.log").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in log.splitlines()]
    bad = [str(row) for row in rows if row["level"] in ("error", "critical") or "trace" in row]
    printed = (here.folder / "gateway.out").read_text(encoding="utf-8")
    return bad + (["Traceback in the output"] if "Traceback" in printed else [])
