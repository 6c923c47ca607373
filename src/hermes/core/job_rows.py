"""A job's row in the store, computed from the events of its session. Pure, for both stores."""

import msgspec
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.errors import JobChanged, Rejected, RowUnreadable
from hermes.core.ids import SessionKey
from hermes.core.job_events import (
    JobChange,
    JobFinished,
    JobPaused,
    JobRemoved,
    JobResumed,
    JobSet,
    OccurrencesSkipped,
    TimerMoved,
)
from hermes.core.jobs import (
    SCHEDULE,
    JobRow,
    was_accepted,
    was_dealt_with,
    was_put,
    was_set,
)
from hermes.core.messages import Inbound

_rows = msgspec.json.Decoder(JobRow)


def row_after(row: JobRow | None, key: SessionKey, event: e.Event) -> JobRow | None:
    """Return the row after this event. None: there is no job in this session yet."""
    if isinstance(event, JobSet):
        made = was_set(row, key, event.job, event.by, event.at)
        return _paused(made, event.paused) if event.paused else made
    if row is None:
        return None
    match event:
        case JobPaused(why=why, by=by, at=at):
            return was_put(row, "paused", why, by, at)
        case JobResumed(by=by, at=at):
            return was_put(row, "active", "", by, at)
        case JobRemoved(by=by, at=at):
            return was_put(row, "removed", "", by, at)
        case JobFinished(at=at):
            return was_put(row, "done", "", row.by, at)
        case OccurrencesSkipped(last=last):
            return was_dealt_with(row, last)
        case TimerMoved(to=to):
            return was_dealt_with(row, to, exactly=True)
        case e.MessageReceived(inbound=inbound):
            return was_accepted(row, due_of(inbound))
        case _:
            return row


def row_changed(row: JobRow | None, key: SessionKey, event: JobChange, seen: int | None) -> JobRow:
    """Return the row after a change that was decided at revision `seen`; None: at any. Raise
    JobChanged when another change came first, Rejected when there is no such job."""
    known = row.revision if row is not None else 0
    if seen is not None and seen != known:
        raise JobChanged(f"the job was changed meanwhile (revision {known}, not {seen})")
    after = row_after(row, key, event)
    if after is None:
        raise Rejected("there is no such job")
    return after


def due_of(inbound: Inbound) -> float:
    """Return the due time of the occurrence that a message is; 0 for every other message."""
    run = inbound.options.run if inbound.options is not None else None
    return run.due if run is not None and inbound.account == SCHEDULE else 0.0


def encode_row(row: JobRow) -> bytes:
    return msgspec.json.encode(row)


def decode_row(raw: bytes) -> JobRow:
    try:
        return _rows.decode(raw)
    except msgspec.MsgspecError as broken:
        raise RowUnreadable(f"a job's row cannot be read: {broken}") from broken


def _paused(row: JobRow, why: str) -> JobRow:
    return replace(row, state="paused", why=why, due_at=None)
