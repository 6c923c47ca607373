"""A job in a process that may die anywhere: made, due twice, run, answered."""

from pathlib import Path

from msgspec import Struct

from hermes.core.channel import ServiceHost
from hermes.core.jobs import job_key
from hermes.core.messages import Inbound
from hermes.core.store import Accepted, Store
from hermes.gateway.service import Gateway
from hermes.schedules.acts import HomeJobs
from hermes.schedules.due import DueRules
from hermes.schedules.rules import JobRules
from hermes.schedules.scheduler import Scheduler
from hermes.views.jobs import JobAuthor, JobRequest

T0 = 1_800_000_000.0
HOUR = 3600.0
AUTHOR = JobAuthor(by="owner", token="the same in every life")
WISH = JobRequest(schedule="every 1h", prompt="Pay.", deliver=("wire:1",), name="bill")


class ClockHost(Struct):
    """As much of a `ServiceHost` as the scheduler asks for in one look."""

    gateway: Gateway
    now: float = T0

    @property
    def store(self) -> Store:
        return self.gateway.store

    async def accept(self, inbound: Inbound) -> Accepted:
        return await self.gateway.accept(inbound)

    def state(self) -> str:
        return "ready"

    def clock(self) -> float:
        return self.now


async def keep_time(home: Path, gateway: Gateway) -> None:
    """Begin at the same time in every life: after a death the clock has been set back."""
    acts = HomeJobs(JobRules(home=home, zone="UTC", platforms=("wire",)))
    scheduler = Scheduler(lambda: DueRules(scripts=home), monotonic=lambda: 0.0)
    host = ClockHost(gateway)
    job = await acts.create(host, WISH, AUTHOR)
    key = job_key(job.id)
    for hour in (1, 2):
        host.now = T0 + hour * HOUR + 1
        await scheduler.look(as_host(host))
        await gateway.settle(key)
        await gateway.deliver(key)


def as_host(host: ClockHost) -> ServiceHost:
    return host  # type: ignore[return-value]
