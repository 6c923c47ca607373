"""Facts about a job: made, changed, paused, removed, and which of its occurrences do not run.

They are written into the job's own session by whoever changes the job, without owning the session:
none of them touches a turn.
"""

from msgspec import Struct

from hermes.core.ids import SessionId
from hermes.core.jobs import Job


class JobSet(Struct, frozen=True, tag="job_set.1", omit_defaults=True):
    """A job was made or changed, in its own session. `opens` is the conversation that begins here
    if the session has none yet. `paused` says why it is not to run yet: it was imported, say."""

    job: Job
    by: str
    at: float
    opens: SessionId = SessionId("")
    paused: str = ""


class JobPaused(Struct, frozen=True, tag="job_paused.1"):
    """The job does not run until it is resumed."""

    why: str
    by: str
    at: float


class JobResumed(Struct, frozen=True, tag="job_resumed.1"):
    """The job runs again, from its next due time on."""

    by: str
    at: float


class JobRemoved(Struct, frozen=True, tag="job_removed.1"):
    """The job is gone. What it did stays in the journal; only a person makes it again."""

    by: str
    at: float


class JobFinished(Struct, frozen=True, tag="job_finished.1"):
    """The job has run as often as it was meant to. It is due no more."""

    at: float


class OccurrencesSkipped(Struct, frozen=True, tag="occurrences_skipped.1"):
    """So many occurrences of the job, the first and the last at these instants, do not run."""

    first: float
    last: float
    count: int
    why: str
    at: float


class TimerMoved(Struct, frozen=True, tag="timer_moved.1"):
    """The next occurrence is the first one behind `to`: the clock was set back, so that those which
    have not run are still to come; or what was due there turned out to have run already."""

    to: float
    at: float


JobChange = (
    JobSet | JobPaused | JobResumed | JobRemoved | JobFinished | OccurrencesSkipped | TimerMoved
)
