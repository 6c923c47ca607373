"""Jobs of a real gateway, over HTTP: made, run, and looked at until something holds."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import httpx2

from tests.process.gateway import KEY, GatewayProcess, client

PATIENCE_S = 60.0
LOOK_S = 0.25
ENDED = ("done", "late", "silent", "failed", "stopped")


async def ask(
    here: GatewayProcess,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    key: str = "",
) -> httpx2.Response:
    """Send one request; return the response, whatever its status."""
    headers = {"authorization": f"Bearer {KEY}"}
    if key:
        headers["idempotency-key"] = key
    async with client(30.0) as http:
        url = f"http://127.0.0.1:{here.port}{path}"
        return await http.request(method, url, json=body, headers=headers)


async def make(here: GatewayProcess, schedule: str, **fields: Any) -> str:
    """Make a job; return its id."""
    body = {"prompt": "say hello", "deliver": "none", **fields, "schedule": schedule}
    made = await ask(here, "POST", "/v1/jobs", body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def history(here: GatewayProcess, job: str) -> list[Any]:
    """Return the runs and skips, the oldest first."""
    found = await ask(here, "GET", f"/v1/jobs/{job}/history?limit=200")
    assert found.status_code == 200, found.text
    return list(reversed(found.json()))


async def runs(here: GatewayProcess, job: str) -> list[Any]:
    """Return the runs that have ended."""
    return [row for row in await history(here, job) if row["state"] in ENDED]


async def until_run(here: GatewayProcess, job: str, count: int = 1) -> list[Any]:
    """Wait until so many runs have ended; return them."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while len(found := await runs(here, job)) < count:
        assert asyncio.get_running_loop().time() < deadline, here.output()
        await asyncio.sleep(LOOK_S)
    return found


def instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
