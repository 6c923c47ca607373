"""Run services: supervised loops that follow the journal or the clock.

A service that fails is restarted with a growing delay. It never ends the process, unless its
settings are wrong at the start.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.core.channel import Service, ServiceState, ServiceStatus
from hermes.core.errors import Fenced, HermesError, Misconfigured, ServiceDown
from hermes.gateway.host import GatewayHost
from hermes.gateway.process_state import ProcessState
from hermes.gateway.supervise import all_set, naming

PAUSE_S, PAUSE_S_MAX = 1.0, 60.0

log = logging.getLogger("hermes.gateway")


class ServiceRun(Struct):
    """One service and its state."""

    service: Service
    clock: Callable[[], float]
    state: ServiceState = "starting"
    since: float = 0.0
    problem: str = ""
    was_running: bool = False
    tried: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def name(self) -> str:
        return self.service.name

    def becomes(self, state: ServiceState, problem: str = "") -> None:
        if state != self.state or not self.since:
            self.since = self.clock()
        self.state, self.problem = state, problem
        if state != "starting":
            self.tried.set()

    def runs(self) -> None:
        self.was_running = True
        self.becomes("running")

    @property
    def status(self) -> ServiceStatus:
        return ServiceStatus(
            name=self.name, state=self.state, since=self.since, problem=self.problem
        )


class Services(Struct, kw_only=True):
    services: Sequence[Service]
    process: ProcessState
    runs: tuple[ServiceRun, ...] = ()

    def __post_init__(self) -> None:
        self.runs = tuple(ServiceRun(each, self.process.clock) for each in self.services)
        self.process.services = lambda: tuple(run.status for run in self.runs)

    async def keep(self, run: ServiceRun, host: GatewayHost) -> None:
        """Keep one service running. Raise Misconfigured when it cannot even begin."""
        pause_s = PAUSE_S
        while True:
            began = self.process.clock()
            try:
                with naming(f"the service {run.name}", ServiceDown):
                    await run.service.run(replace(host, noted=run.runs))
                why = "it ended by itself"
            except Fenced:
                raise
            except HermesError as failed:
                if isinstance(failed, Misconfigured) and not run.was_running:
                    raise
                why = str(failed)
            pause_s = PAUSE_S if self.process.clock() - began > PAUSE_S_MAX else pause_s
            log.warning("the service %s is down, next try in %.0f s: %s", run.name, pause_s, why)
            run.becomes("down", why)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, PAUSE_S_MAX)

    async def attempted(self, limit_s: float) -> None:
        """Wait until every service runs or is down, at most that long."""
        await all_set([each.tried for each in self.runs], limit_s)
