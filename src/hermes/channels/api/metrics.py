"""The gateway's metrics in Prometheus' text format. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from hermes.core.channel import GatewayStatus

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Served = Mapping[tuple[str, int], int]
Row = tuple[Mapping[str, str], float]


def metrics_text(status: GatewayStatus, served: Served, *, now: float) -> str:
    return "\n".join(_lines(status, served, now)) + "\n"


def _lines(status: GatewayStatus, served: Served, now: float) -> Iterator[str]:
    counts = status.counts
    oldest = counts.outbox_oldest_at
    yield from _one("hermes_up", "1 while ready for work", status.state == "ready")
    yield from _one("hermes_draining", "1 while about to stop", status.state == "draining")
    yield from _one("hermes_start_time_seconds", "When the process started", status.started_at)
    yield from _one("hermes_resumes", "0: too many crashed boots, no resumes", status.resumes)
    yield from _one("hermes_turns_running", "Turns running in this process", status.running)
    yield from _one("hermes_sessions", "Known sessions", counts.sessions)
    yield from _metric("hermes_sessions_in", "Sessions by phase", _phases(status))
    yield from _one("hermes_messages_queued", "Messages that wait", counts.queued)
    marks = [({"reason": reason}, count) for reason, count in sorted(counts.marks.items())]
    yield from _metric("hermes_marks", "Sessions whose turn was interrupted", marks)
    outbox = [({"state": state}, count) for state, count in sorted(counts.outbox.items())]
    yield from _metric("hermes_outbox", "Replies that are not delivered", outbox)
    age = max(0.0, now - oldest) if oldest is not None else 0
    yield from _one("hermes_outbox_oldest_seconds", "Age of the oldest of them", age)
    memory = status.memory_bytes
    yield from _one("hermes_resident_memory_bytes", "Memory of the process", memory)
    yield from _channels(status)
    yield from _services(status)
    rows = [
        ({"route": route, "code": str(code)}, count)
        for (route, code), count in sorted(served.items())
    ]
    yield from _metric("hermes_http_requests_total", "Requests answered", rows, "counter")


def _phases(status: GatewayStatus) -> Sequence[Row]:
    counts = status.counts
    each = {"running": counts.running, "asking": counts.asking, "suspended": counts.suspended}
    return [({"phase": phase}, count) for phase, count in each.items()]


def _channels(status: GatewayStatus) -> Iterator[str]:
    up = [({"channel": c.name}, c.state == "connected") for c in status.channels]
    yield from _metric("hermes_channel_up", "1 while connected", up)
    heard: list[Row] = [
        ({"channel": c.name}, c.last_inbound_at)
        for c in status.channels
        if c.last_inbound_at is not None
    ]
    name = "hermes_channel_last_inbound_timestamp_seconds"
    yield from _metric(name, "When a message came", heard)
    polled: list[Row] = [
        ({"channel": c.name}, c.last_poll_at) for c in status.channels if c.last_poll_at is not None
    ]
    name = "hermes_channel_last_poll_timestamp_seconds"
    yield from _metric(name, "Time of the last poll", polled)


def _services(status: GatewayStatus) -> Iterator[str]:
    up = [({"service": s.name}, s.state == "running") for s in status.services]
    yield from _metric("hermes_service_up", "1 while running", up)


def _one(name: str, what: str, value: float) -> Iterator[str]:
    return _metric(name, what, [({}, value)])


def _metric(
    name: str,
    what: str,
    rows: Sequence[Row],
    kind: Literal["gauge", "counter"] = "gauge",
) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
    for labels, value in rows:
        inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        shown = int(value) if float(value).is_integer() else repr(float(value))
        yield f"{name}{{{inner}}} {shown}" if inner else f"{name} {shown}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
