"""hermes gateway status: what a running gateway says of itself, or what the store says without."""

import asyncio
from collections.abc import Iterator

from msgspec.structs import asdict

from hermes.app import beside, store_only
from hermes.cli.command import Shown
from hermes.cli.errors import DONE, FAILED
from hermes.cli.place import Place
from hermes.cli.times import ago, iso
from hermes.core.channel import ChannelStatus, Status
from hermes.core.store import Counts

MB = 1_000_000


def run(given: Shown, place: Place) -> int:
    return asyncio.run(_run(given, place))


async def _run(given: Shown, place: Place) -> int:
    attached = await beside(place.home)
    if attached is None:
        return await _without(given, place)
    try:
        status = await attached.status()
    finally:
        await attached.close()
    if given.json:
        place.console.document(document(status))
        return DONE
    now = place.clock()
    place.console.head(f"The gateway is {status.state} (pid {status.pid}, {status.store})")
    for line in _told(status, now):
        place.console.say(line)
    place.console.table(
        ("CHANNEL", "STATE", "SINCE", "LAST MESSAGE", "LAST POLL", "PROBLEM"),
        [_channel(channel, now) for channel in status.channels],
    )
    return DONE


async def _without(given: Shown, place: Place) -> int:
    settings = place.settings()
    counts = None
    if (place.home / "hermes.db").exists() or settings.store.url != "sqlite":
        async with store_only(place.home, settings) as store:
            counts = await store.library.counts()
    if given.json:
        shown = asdict(counts) if counts is not None else None
        place.console.document({"state": "stopped", "running": False, "counts": shown})
        return FAILED
    place.console.say("No gateway runs on this home. Start it with: hermes gateway start")
    if counts is not None:
        for line in _waiting(counts):
            place.console.say(line)
    return FAILED


def document(status: Status) -> dict[str, object]:
    counts = status.counts
    return {
        "state": status.state,
        "version": status.version,
        "pid": status.pid,
        "node": status.node,
        "started_at": iso(status.started_at),
        "resumes": status.resumes,
        "store": status.store,
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
        "turns": {"running": status.running, "queued": counts.queued, "asking": counts.asking},
        "sessions": counts.sessions,
        "suspended": counts.suspended,
        "marks": dict(counts.marks),
        "outbox": dict(counts.outbox),
        "outbox_oldest_at": iso(counts.outbox_oldest_at),
        "memory_bytes": status.memory_bytes,
    }


def _told(status: Status, now: float) -> Iterator[str]:
    yield f"Since {ago(status.started_at, now)}, {status.memory_bytes / MB:.0f} MB"
    yield f"Turns: {status.running} running here, {status.counts.running} in all"
    yield from _waiting(status.counts)
    if not status.resumes:
        yield "Three boots in a row crashed: interrupted turns wait for a message of their person."


def _waiting(counts: Counts) -> Iterator[str]:
    yield f"Sessions: {counts.sessions}, {counts.suspended} suspended, {counts.asking} asking"
    yield f"Messages that wait: {counts.queued}"
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
