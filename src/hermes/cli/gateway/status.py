"""hermes gateway status: the running gateway's report, or the store's without one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED
from hermes.cli.options import json_option
from hermes.cli.output.times import ago, iso
from hermes.core.channel import ChannelStatus, GatewayStatus
from hermes.core.store import Counts
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from hermes.app import application as app
else:
    app = LazyModule("hermes.app.application")

MB = 1_000_000


async def run(options: JsonOptions, context: CliContext) -> int:
    attached = await app.beside(context.home)
    if attached is None:
        return await _without(options, context)
    try:
        status = await attached.status()
    finally:
        await attached.close()
    if options.json:
        context.console.document(document(status))
        return DONE
    now = context.clock()
    context.console.head(f"The gateway is {status.state} (pid {status.pid}, {status.store})")
    if status.problem:
        context.console.say(f"Nothing can be stored: {status.problem}")
    for line in _describe(status, now):
        context.console.say(line)
    context.console.table(
        ("CHANNEL", "STATE", "SINCE", "LAST MESSAGE", "LAST POLL", "PROBLEM"),
        [_channel(channel, now) for channel in status.channels],
    )
    if status.services:
        context.console.table(
            ("SERVICE", "STATE", "SINCE", "PROBLEM"),
            [[s.name, s.state, ago(s.since, now), s.problem] for s in status.services],
        )
    return DONE


async def _without(options: JsonOptions, context: CliContext) -> int:
    settings = context.settings()
    counts = None
    if (context.home / "hermes.db").exists() or settings.store.url != "sqlite":
        async with app.store_only(context.home, settings) as store:
            counts = await store.library.counts()
    if options.json:
        shown = asdict(counts) if counts is not None else None
        context.console.document({"state": "stopped", "running": False, "counts": shown})
        return FAILED
    context.console.advise("No gateway runs on this home. Start it with: hermes gateway start")
    if counts is not None:
        for line in _waiting(counts):
            context.console.say(line)
    return FAILED


def document(status: GatewayStatus) -> dict[str, object]:
    counts = status.counts
    return {
        "state": status.state,
        "version": status.version,
        "pid": status.pid,
        "node": status.node,
        "started_at": iso(status.started_at),
        "resumes": status.resumes,
        "store": status.store,
        "problem": status.problem,
        "channels": [
            {
                "name": channel.name,
                "state": channel.state,
                "since": iso(channel.since),
                "last_inbound_at": iso(channel.last_inbound_at),
                "last_poll_at": iso(channel.last_poll_at),
                "problem": channel.problem,
            }
            for channel in status.channels
        ],
        "services": [
            {
                "name": service.name,
                "state": service.state,
                "since": iso(service.since),
                "problem": service.problem,
            }
            for service in status.services
        ],
        "turns": {"running": status.running, "queued": counts.queued, "asking": counts.asking},
        "sessions": counts.sessions,
        "suspended": counts.suspended,
        "marks": dict(counts.marks),
        "outbox": dict(counts.outbox),
        "outbox_oldest_at": iso(counts.outbox_oldest_at),
        "memory_bytes": status.memory_bytes,
    }


def _describe(status: GatewayStatus, now: float) -> Iterator[str]:
    yield f"Since {ago(status.started_at, now)}, {status.memory_bytes / MB:.0f} MB"
    yield f"Turns: {status.running} running here, {status.counts.running} in all"
    yield from _waiting(status.counts)
    if not status.resumes:
        yield "Three starts in a row crashed: interrupted turns wait until their person writes."


def _waiting(counts: Counts) -> Iterator[str]:
    yield f"Sessions: {counts.sessions}, {counts.suspended} suspended, {counts.asking} asking"
    yield f"Waiting messages: {counts.queued}"
    if counts.marks:
        yield "To be resumed: " + ", ".join(f"{n} {why}" for why, n in counts.marks.items())
    if counts.outbox:
        yield "Outbox: " + ", ".join(f"{n} {state}" for state, n in counts.outbox.items())


def _channel(channel: ChannelStatus, now: float) -> list[str]:
    def when(at: float | None) -> str:
        return ago(at, now) if at is not None else "-"

    state, since = channel.state, when(channel.since)
    times = (when(channel.last_inbound_at), when(channel.last_poll_at))
    return [channel.name, state, since, *times, channel.problem]


COMMAND = CliCommand(
    options=JsonOptions,
    run=run,
    arguments=json_option,
    more="The exit status is 0 if a gateway runs on this home, and 1 if not.",
)
