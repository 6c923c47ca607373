"""Channels are for people; services work beside them, and each has its own state."""

import asyncio
from pathlib import Path

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, serving
from hermes.core.channel import ServiceHost, ServiceStatus
from hermes.gateway.services import ServiceRun
from hermes.providers.scripted import Scripted
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.testing.house import echo
from hermes.testing.model import Model
from tests.process.gateway import gateway

PATIENCE_S = 60.0


async def test_the_ready_line_and_status_name_channels_and_services_apart(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        hook = here.home / "hooks" / "quiet"
        hook.mkdir(parents=True)
        (hook / "HOOK.yaml").write_text("events: [turn:end]\n", encoding="utf-8")
        (hook / "handler.py").write_text("import sys; sys.stdin.read()\n", encoding="utf-8")
        await here.start()
        status = await here.hermes("gateway", "status", "--json")
        assert {each["name"] for each in status["channels"]} == {"local", "api"}
        assert {(each["name"], each["state"]) for each in status["services"]} == {
            ("hooks", "running"),
            ("review", "running"),
            ("schedule", "running"),
        }
        ready = (
            f"The gateway is ready (pid {here.pid}): local, api. Services: hooks, review, schedule."
        )
        assert ready in here.output()
        told = await here.hermes("status")
        assert "api: connected" in told
        assert "hooks (service): running" in told


class Fragile:
    """A service that breaks as often as it is told to."""

    name = "fragile"

    def __init__(self, faults: int) -> None:
        self.faults = faults

    async def run(self, host: ServiceHost, /) -> None:
        if self.faults:
            self.faults -= 1
            raise RuntimeError("a fault of its own")
        host.connected()
        await asyncio.get_running_loop().create_future()


async def until(run: ServiceRun, state: str) -> ServiceStatus:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if run.state == state:
                break
            await asyncio.sleep(0.01)
    return run.status


async def test_a_service_that_breaks_is_told_of_and_started_again(tmp_path: Path) -> None:
    store = await open_sqlite(tmp_path / "hermes.db", clock=lambda: 1.0)
    media = FileMediaStore(tmp_path / "media")
    parts = Parts(
        store=store, provider=Scripted(echo), tools=StaticToolset(()), channels=(), media=media
    )
    here = serving(parts, services=[Fragile(1)])
    ready = asyncio.Event()
    running = asyncio.create_task(here.run(ready.set, 1.0))
    (run,) = here.services.runs
    try:
        down = await until(run, "down")
        assert "RuntimeError" in down.problem
        async with asyncio.timeout(PATIENCE_S):
            await ready.wait()
        assert (await until(run, "running")).problem == ""
        assert [each.name for each in (await here.engine.status()).services] == ["fragile"]
    finally:
        here.leave("shutdown_timeout")
        await running
        await store.upkeep.close()
