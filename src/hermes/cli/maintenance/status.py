"""hermes status: the model, what runs and what waits, in a few lines."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes import __version__
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.gateway.status import document as gateway_document
from hermes.cli.options import json_option
from hermes.cli.output.times import ago
from hermes.core.channel import GatewayStatus
from hermes.core.store import Counts
from hermes.lazy import LazyModule
from hermes.settings import Settings
from hermes.settings.home import DATABASE
from hermes.text.plurals import counted

if TYPE_CHECKING:
    from hermes.app import application as app
else:
    app = LazyModule("hermes.app.application")

NOBODY = "no model is set up. Choose one with: hermes model"
STOPPED = "not running. Start it with: hermes gateway start"


class Overview(Struct, frozen=True, kw_only=True):
    settings: Settings
    gateway: GatewayStatus | None
    counts: Counts | None  # None: nothing has been stored yet

    @property
    def model(self) -> str:
        model = self.settings.model
        return f"{model.provider}:{model.name}".rstrip(":")


def run(options: JsonOptions, context: CliContext) -> int:
    found = asyncio.run(_collect(context))
    if options.json:
        context.console.document(_document(found, context))
        return DONE
    for name, value in _describe(found, context):
        context.console.advise(f"{name:<11}{value}")
    return DONE


async def _collect(context: CliContext) -> Overview:
    settings = context.settings()
    attached = await app.beside(context.home)
    if attached is not None:
        try:
            gateway = await attached.status()
        finally:
            await attached.close()
        return Overview(settings=settings, gateway=gateway, counts=gateway.counts)
    counts = None
    if settings.store.url != "sqlite" or (context.home / DATABASE).exists():
        async with app.store_only(context.home, settings) as store:
            counts = await store.library.counts()
    return Overview(settings=settings, gateway=None, counts=counts)


def _describe(found: Overview, context: CliContext) -> Iterator[tuple[str, str]]:
    yield "Hermes", __version__
    yield "Home", str(context.home)
    yield "Model", found.model or NOBODY
    if (gateway := found.gateway) is None:
        yield "Gateway", STOPPED
    else:
        since = ago(gateway.started_at, context.clock())
        yield "Gateway", f"{gateway.state}, pid {gateway.pid}, since {since}"
        for channel in gateway.channels:
            problem = f" ({channel.problem})" if channel.problem else ""
            yield "", f"{channel.name}: {channel.state}{problem}"
        for service in gateway.services:
            problem = f" ({service.problem})" if service.problem else ""
            yield "", f"{service.name} (service): {service.state}{problem}"
    if (counts := found.counts) is None:
        yield "Sessions", "none yet. Start one: hermes chat -q hello"
        return
    yield "Sessions", f"{counts.sessions}, {counts.running} running, {counts.suspended} suspended"
    if counts.asking:
        waits = "waits" if counts.asking == 1 else "wait"
        answer = "See: hermes approvals"
        yield "Questions", f"{counted(counts.asking, 'question')} {waits} for you. {answer}"
    if counts.queued:
        yield "Inbox", f"{counted(counts.queued, 'message')} not answered yet"
    if unsent := sum(n for state, n in counts.outbox.items() if state != "abandoned"):
        yield "Outbox", f"{counted(unsent, 'reply', 'replies')} to be sent"


def _document(found: Overview, context: CliContext) -> Mapping[str, object]:
    counts = found.counts
    running = found.gateway
    return {
        "version": __version__,
        "home": str(context.home),
        "model": found.model or None,
        "gateway": gateway_document(running) if running is not None else {"state": "stopped"},
        "sessions": counts.sessions if counts is not None else 0,
        "running": counts.running if counts is not None else 0,
        "suspended": counts.suspended if counts is not None else 0,
        "asking": counts.asking if counts is not None else 0,
        "queued": counts.queued if counts is not None else 0,
        "outbox": dict(counts.outbox) if counts is not None else {},
    }


COMMAND = CliCommand(
    options=JsonOptions,
    run=run,
    arguments=json_option,
)
