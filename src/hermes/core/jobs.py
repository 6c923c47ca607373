"""A job: what is to be done when, in whose name, and where the answer goes.

A job has a session of its own, and its journal says all about it. A row in the store repeats that
for listings and for the timer: `row_after` computes it, event by event, and a rebuild does so too.
"""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.ids import MessageId, SessionKey, name_of, session_key
from hermes.core.principal import PROCESS, Address, Principal
from hermes.core.schedule import Schedule, due_after

SCHEDULE = "schedule"  # the platform of jobs, and the account of their messages
Missed = Literal["once", "all", "skip"]
Overlap = Literal["skip", "queue"]
JobState = Literal["active", "paused", "removed", "done"]


class Job(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The definition. `principal` has the rights of who made it, as they were then; what may be
    done is never more than these and never more than that person may do now."""

    id: str
    name: str
    schedule: Schedule
    prompt: str = ""
    creator: str = ""  # platform:id, for people
    principal: Principal = PROCESS
    deliver: tuple[str, ...] = ("home",)
    addresses: tuple[Address, ...] = ()  # of those that were known when it was made
    model: str = ""
    skills: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    workdir: str = ""
    script: str = ""  # a file in the folder `scripts`
    digest: str = ""  # of its bytes
    no_agent: bool = False
    context_from: tuple[str, ...] = ()  # jobs whose last answers stand in front
    attach: bool = True  # the chat's own conversation knows the answer, so that people can reply
    repeat: int = 0  # so many runs; 0: no limit
    missed: Missed = "once"
    overlap: Overlap = "skip"
    tokens_max: int = 0  # of one run; 0: no limit of its own
    timeout_s: float = 0.0
    labels: tuple[str, ...] = ()  # of what was read by who wrote the prompt
    version: int = 1
    created_at: float = 0.0


class JobRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job as it is now. `cursor` is the last due instant that was dealt with, and `due_at` the
    next one. `revision` counts all changes, `job.version` the definitions."""

    key: SessionKey
    job: Job
    revision: int = 1
    state: JobState = "active"
    why: str = ""  # it is paused
    by: str = ""  # who changed it last
    changed_at: float = 0.0
    cursor: float = 0.0
    due_at: float | None = None

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def is_done(self) -> bool:
        """Return True if it is due no more."""
        return self.state == "done" or (self.state == "active" and self.due_at is None)


def job_key(job: str) -> SessionKey:
    return session_key(SCHEDULE, "dm", job)


def job_of(key: str) -> str:
    """Return the id of the job whose session this is; "" for any other session."""
    name = name_of(key)
    return name.chat if name is not None and name.platform == SCHEDULE else ""


def job_address(job: str) -> Address:
    """Return the job's own place, where runs speak that are to be sent to nobody."""
    return Address(platform=SCHEDULE, chat=job)


def occurrence_id(job: str, due: float) -> MessageId:
    """Return the name of one occurrence. It is the same on every node and after every crash."""
    at = datetime.fromtimestamp(due, UTC)
    return MessageId(f"{job}@{at.strftime('%Y-%m-%dT%H:%M:%SZ')}")


def with_due(row: JobRow, cursor: float) -> JobRow:
    """Return the row whose occurrences up to `cursor` have been dealt with."""
    due = due_after(row.job.schedule, cursor) if row.state == "active" else None
    return replace(row, cursor=cursor, due_at=due)


def was_set(row: JobRow | None, key: SessionKey, job: Job, by: str, at: float) -> JobRow:
    """Return the row of a job that was made, or changed. A new schedule counts from then on."""
    same = row is not None and row.job.schedule == job.schedule and row.state != "removed"
    paused = row is not None and row.state == "paused"
    made = JobRow(
        key=key,
        job=job,
        revision=row.revision + 1 if row is not None else 1,
        state="paused" if paused else "active",
        why=row.why if row is not None and paused else "",
        by=by,
        changed_at=at,
    )
    return with_due(made, row.cursor if row is not None and same else at)


def was_put(row: JobRow, state: JobState, why: str, by: str, at: float) -> JobRow:
    """Return the row of a job that was paused, resumed or removed. What was due while it was
    paused is not made up for."""
    cursor = max(row.cursor, at) if state == "active" else row.cursor
    revision = row.revision + 1
    now = replace(row, state=state, why=why, by=by, changed_at=at, revision=revision)
    return with_due(now, cursor)


def was_dealt_with(row: JobRow, upto: float, *, exactly: bool = False) -> JobRow:
    """Return the row after a fact about its occurrences. `exactly`: those behind `upto` are still
    to come, whatever was dealt with before."""
    cursor = upto if exactly else max(row.cursor, upto)
    return with_due(replace(row, revision=row.revision + 1), cursor)


def was_accepted(row: JobRow, due: float) -> JobRow:
    """Return the row after one of its occurrences was taken in."""
    return with_due(row, max(row.cursor, due)) if due > row.cursor else row
