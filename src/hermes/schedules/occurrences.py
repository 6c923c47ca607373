"""Which occurrences run now, which do not, and why. Pure: the scheduler does what this says."""

from typing import Literal

from msgspec import Struct

from hermes.core.job_events import OccurrencesSkipped
from hermes.core.jobs import JobRow
from hermes.core.schedule import dues_between, last_due
from hermes.views.schedule_words import span_in_words

ON_TIME_S = 60.0  # what comes later than this is late
ALL_MAX = 24
COUNTED_MAX = 10_000
SOON_S = 1.0

Standing = Literal["free", "runs", "waits", "asks"]  # of the run before


class OccurrenceRules(Struct, frozen=True):
    """Older than `late_max_s` never runs."""

    late_max_s: float = 24 * 3600.0


class DueDecision(Struct, frozen=True, kw_only=True):
    """`run` are due times, oldest first; `skip` are the facts about the others."""

    run: tuple[float, ...] = ()
    skip: tuple[OccurrencesSkipped, ...] = ()

    @property
    def in_order(self) -> tuple[float | OccurrencesSkipped, ...]:
        """Return all of it by time: what is written later never passes over what runs earlier,
        so that a crash in between loses nothing."""
        every: tuple[float | OccurrencesSkipped, ...] = (*self.run, *self.skip)
        return tuple(sorted(every, key=lambda each: each if isinstance(each, float) else each.last))


def decide(
    row: JobRow, now: float, standing: Standing, left: int | None, rules: OccurrenceRules
) -> DueDecision:
    """Decide about all that is due by now. `left`: so many runs are left of its `repeat`."""
    if last_due(row.job.schedule, row.cursor, now) is None:
        return DueDecision()
    wanted, skip = _missed(row, now, rules)
    if wanted and standing != "free":
        wanted, overlapped = _overlapping(row, wanted, standing, now)
        skip += overlapped
    if left is not None and len(wanted) > left:
        skip += _skipped(wanted[left:], "it has run as often as it was meant to", now)
        wanted = wanted[:left]
    return DueDecision(run=wanted, skip=tuple(sorted(skip, key=lambda each: each.last)))


def _missed(
    row: JobRow, now: float, rules: OccurrenceRules
) -> tuple[tuple[float, ...], tuple[OccurrencesSkipped, ...]]:
    schedule = row.job.schedule
    window = max(rules.late_max_s, ON_TIME_S)
    too_old = _too_old(row, now - window - SOON_S, now, span_in_words(rules.late_max_s))
    rest = dues_between(schedule, max(row.cursor, now - window - SOON_S), now, COUNTED_MAX)
    late = tuple(due for due in rest if now - due > ON_TIME_S)
    match row.job.missed:
        case "skip":
            wanted = rest[len(late) :][-1:]
        case "once":
            wanted = rest[-1:]
        case "all":
            wanted = rest[-ALL_MAX:]
    left_out = tuple(due for due in rest if due not in wanted)
    return wanted, (*too_old, *_skipped(left_out, _why_missed(row.job.missed, len(wanted)), now))


def _too_old(row: JobRow, until: float, now: float, window: str) -> tuple[OccurrencesSkipped, ...]:
    """Count what was missed long ago, as far as that is cheap; its range is always right."""
    old = dues_between(row.job.schedule, row.cursor, until, COUNTED_MAX)
    if not old:
        return ()
    last = last_due(row.job.schedule, row.cursor, until) or old[-1]
    why = f"it was missed more than {window} ago"
    return (OccurrencesSkipped(old[0], last, len(old), why, now),)


def _why_missed(missed: str, ran: int) -> str:
    if missed == "skip":
        return "it was missed while Hermes was not running, and the job skips missed runs"
    if missed == "all":
        return f"it was missed while Hermes was not running, and only the latest {ran} are made up"
    return "it was missed while Hermes was not running, and only the latest one is made up for"


def _overlapping(
    row: JobRow, wanted: tuple[float, ...], standing: Standing, now: float
) -> tuple[tuple[float, ...], tuple[OccurrencesSkipped, ...]]:
    if standing == "asks":
        return (), _skipped(wanted, "the run before it waits for you", now)
    if row.job.overlap == "skip":
        return (), _skipped(wanted, "the run before it was still running", now)
    if standing == "waits":
        return (), _skipped(wanted, "a run was waiting for the one before it already", now)
    return wanted[-1:], _skipped(wanted[:-1], "only one run waits for the one before it", now)


def _skipped(dues: tuple[float, ...], why: str, now: float) -> tuple[OccurrencesSkipped, ...]:
    return (OccurrencesSkipped(dues[0], dues[-1], len(dues), why, now),) if dues else ()
