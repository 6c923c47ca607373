"""The clock that sends messages: one timer for the nearest due time, moved when a job changes.

Each occurrence is a message whose id is the job and its due time, so the inbox takes it once for
ever: two nodes, a restart or a clock that jumps cannot make it run twice. The next due time is
written after the message was accepted; a crash in between accepts it again, which changes nothing.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hermes.core.channel import ServiceHost
from hermes.core.errors import HermesError
from hermes.core.events import TurnEnded
from hermes.core.job_events import TimerMoved
from hermes.core.jobs import SCHEDULE, JobRow, job_of
from hermes.core.signals import Recorded
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from hermes.schedules import due
else:
    due = LazyModule("hermes.schedules.due")  # an idle gateway does without it

DUE_MAX = 1_000  # jobs that are looked at in one go: before the first of them starts to work
SLEEP_S_MAX = 30.0  # then the clock is compared with the one that cannot be set
STEP_S = 5.0  # by which a clock may differ from it before that counts as set
HOLD_S = 5.0
STARTING_S = 0.2

log = logging.getLogger("hermes.schedules")


class Scheduler:
    """See `Service`."""

    def __init__(
        self,
        rules: "Callable[[], due.DueRules]",
        prepare: Callable[[ServiceHost], Awaitable[None]] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._prepare = prepare
        self._rules = rules
        self._monotonic = monotonic
        self._offset: float | None = None  # of the clock from the one that cannot be set

    @property
    def name(self) -> str:
        return SCHEDULE

    async def run(self, host: ServiceHost) -> None:
        host.connected()
        while True:
            if await host.hold(SCHEDULE):
                break
            await asyncio.sleep(HOLD_S)
        if self._prepare is not None:
            await self._prepare(host)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow(host))
            await self._keep_time(host)

    async def _keep_time(self, host: ServiceHost) -> None:
        while True:
            news = asyncio.create_task(host.store.jobs.wait(SLEEP_S_MAX))
            try:
                await asyncio.sleep(0)  # what changes from here on is news
                wait_s = await self.look(host)
                await asyncio.wait({news}, timeout=wait_s)
            finally:
                news.cancel()

    async def _follow(self, host: ServiceHost) -> None:
        """Pause a job when it has failed too often, not when it is due again."""
        with host.watch(None, live=False) as feed:
            while True:
                signal = await feed.next()
                id_ = job_of(signal.session)
                if id_ and isinstance(signal.glimpse, Recorded) and _has_failed(signal.glimpse):
                    await self._pause_failing(host, id_)

    async def _pause_failing(self, host: ServiceHost, id_: str) -> None:
        try:
            await due.DueJobs(host, self._rules()).pause_failing(id_)
        except HermesError as failed:
            log.warning("the job %s is looked at again when it is due: %s", id_, failed)

    async def look(self, host: ServiceHost) -> float:
        """Deal with all that is due; return how long to sleep."""
        if host.state() != "ready":
            return STARTING_S
        now = host.clock()
        await self._notice_steps(host, now)
        failed: set[str] = set()
        while rows := await self._due(host, now, failed):
            done = await asyncio.gather(*(self._considered(host, row, now) for row in rows))
            failed |= {row.id for row, well in zip(rows, done, strict=True) if not well}
        next_at = await host.store.jobs.next_due()
        if next_at is None or failed:
            return SLEEP_S_MAX
        return min(max(next_at - host.clock(), 0.0), SLEEP_S_MAX)

    async def _considered(self, host: ServiceHost, row: JobRow, now: float) -> bool:
        """Return False if the job must be looked at again later."""
        try:
            await due.DueJobs(host, self._rules()).consider(row, now)
        except HermesError as failure:
            log.warning("the job %s is looked at again later: %s", row.id, failure)
            return False
        return True

    async def _due(self, host: ServiceHost, now: float, but: set[str]) -> list[JobRow]:
        rows = await host.store.jobs.due(now, limit=DUE_MAX + len(but))
        return [row for row in rows if row.id not in but]

    async def _notice_steps(self, host: ServiceHost, now: float) -> None:
        """After a clock that ran ahead came back, what it skipped is still to come."""
        offset = now - self._monotonic()
        first, set_back = self._offset is None, offset < (self._offset or 0.0) - STEP_S
        self._offset = offset
        if not first and not set_back:
            return
        for row in await host.store.jobs.ahead(now + STEP_S, limit=DUE_MAX):
            await host.store.jobs.change(row.key, TimerMoved(now, now))


def _has_failed(recorded: Recorded) -> bool:
    ends = [event for event in recorded.events if isinstance(event, TurnEnded)]
    return any(event.outcome == "failed" for event in ends)
