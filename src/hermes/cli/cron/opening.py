"""Open what the cron commands work with: the acts, and a store to do them in."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hermes.cli.context import CliContext
from hermes.core.ids import SessionId
from hermes.core.messages import Inbound
from hermes.core.store import Accepted, Store
from hermes.lazy import LazyModule
from hermes.settings import prepare
from hermes.views.jobs import JobActs, JobAuthor

if TYPE_CHECKING:
    from hermes.app import application as app
    from hermes.app import schedules
else:
    app = LazyModule("hermes.app.application")
    schedules = LazyModule("hermes.app.schedules")

OWNER = JobAuthor(by="owner")  # who runs a command on this machine is the owner


class CliJobHost(Struct, frozen=True):
    """See `JobHost`. A gateway, now or later, goes on with what is accepted here."""

    store: Store
    clock: Callable[[], float]

    async def accept(self, inbound: Inbound) -> Accepted:
        opens = SessionId(os.urandom(13).hex())
        return await self.store.journal.accept(inbound, opens=opens)


class OpenJobs(NamedTuple):
    acts: JobActs
    host: CliJobHost


@asynccontextmanager
async def open_jobs(context: CliContext) -> AsyncIterator[OpenJobs]:
    """Yield the jobs of this home. Home and database are made if there are none yet."""
    prepare(context.home)
    settings = context.settings()
    acts = schedules.terminal_acts(context.home, settings, context.environ)
    async with app.store_only(context.home, settings) as store:
        yield OpenJobs(acts, CliJobHost(store, context.clock))
