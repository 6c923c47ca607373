"""Compute when a job is due: a schedule in, instants out.

Nothing here reads the clock: a caller says what time it is. A zone's offsets come from the tables
of `zoneinfo`; they are data that ships with the system or with the package `tzdata`, and the same
question gets the same answer, so this counts as pure.

A schedule is one of three. An interval is a grid, `anchor + n * step`: a long run shifts nothing.
A cron expression follows the clock on the wall. A time that a change of the clock leaves out runs
at the end of the gap, and a time that comes twice runs the first time; an expression without a time
of day (`*/30 * * * *`) runs whenever the clock shows it, so also in both hours that look the same.
The third kind is one instant.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, takewhile
from math import floor
from typing import TYPE_CHECKING, Literal, assert_never

from msgspec import Struct

from hermes.core.cron import Cron, read_cron, shortest_gap_s, walk
from hermes.core.errors import BadSchedule
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import zoneinfo
else:
    zoneinfo = LazyModule("zoneinfo")

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the clock on the wall has no zone
FOLD_MAX_S = 3 * 3600  # no zone turns its clocks back further


class Schedule(Struct, frozen=True, kw_only=True):
    """When a job is due, with everything that is needed to compute it, fixed when it was made."""

    text: str  # as it was written
    kind: Literal["interval", "cron", "once"]
    zone: str
    anchor: float  # the instant when it was made; an interval counts from here
    step: float = 0.0  # of an interval, in seconds
    cron: str = ""  # the expression, five fields or six
    at: float = 0.0  # the instant of a single run


def due_after(schedule: Schedule, after: float) -> float | None:
    """Return the first due instant later than `after`."""
    return next(_dues(schedule, after), None)


def dues_between(schedule: Schedule, after: float, until: float, limit: int) -> tuple[float, ...]:
    """Return the due instants in (after, until], oldest first, at most `limit` of them."""
    return tuple(islice(takewhile(lambda due: due <= until, _dues(schedule, after)), limit))


def last_due(schedule: Schedule, after: float, until: float) -> float | None:
    """Return the latest due instant in (after, until]. Its cost does not grow with the range."""
    match schedule.kind:
        case "interval":
            count = floor((until - schedule.anchor) / schedule.step)
            due = schedule.anchor + count * schedule.step if count >= 1 else None
        case "once":
            due = schedule.at if schedule.at <= until else None
        case "cron":
            due = _last_of_cron(schedule, until)
        case _:
            assert_never(schedule.kind)
    return due if due is not None and due > after else None


def shortest_gap(schedule: Schedule) -> float | None:
    """Return the least time between two dues, in seconds; None if there is only one."""
    match schedule.kind:
        case "interval":
            return schedule.step
        case "once":
            return None
        case "cron":
            return float(shortest_gap_s(read_cron(schedule.cron)))
        case _:
            assert_never(schedule.kind)


def local_time(instant: float, zone: str) -> datetime:
    """Return the instant as a date and a time in the zone."""
    return datetime.fromtimestamp(instant, zone_of(zone))


def zone_of(name: str) -> tzinfo:
    """Return the zone with this IANA name. Raise BadSchedule if there is no such zone."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise BadSchedule(
            f"“{name}” is not a time zone that I know. Use a name such as Europe/Paris or UTC."
        ) from None


def instant_at(tz: tzinfo, wall: int, *, fold: int = 0) -> int:
    """Return when the wall clock shows this time: the first time if it does so twice (or the second
    with `fold` 1), the end of the gap if it never does."""
    local = (EPOCH + timedelta(seconds=wall)).replace(tzinfo=tz)
    early, late = wall - _seconds(local), wall - _seconds(local.replace(fold=1))
    if early <= late:  # the same, or one of two
        return late if fold else early
    low, high = late, early  # the clock was put forward in between
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(tz, middle) == _offset(tz, early):
            high = middle
        else:
            low = middle
    return high


def wall_time(tz: tzinfo, instant: int) -> int:
    """Return what the clock on the wall shows then, as `core/cron.py` counts it."""
    return instant + _offset(tz, instant)


def _dues(schedule: Schedule, after: float) -> Iterator[float]:
    """Yield the due instants after `after`, oldest first."""
    match schedule.kind:
        case "interval":
            count = max(1, floor((after - schedule.anchor) / schedule.step) + 1)
            while True:
                yield schedule.anchor + count * schedule.step
                count += 1
        case "once":
            if schedule.at > after:
                yield schedule.at
        case "cron":
            yield from _dues_of_cron(schedule, max(after, schedule.anchor))
        case _:
            assert_never(schedule.kind)


def _dues_of_cron(schedule: Schedule, after: float) -> Iterator[float]:
    cron, tz = read_cron(schedule.cron), zone_of(schedule.zone)
    while True:
        if cron.every and _is_near_fold(tz, floor(after)):
            yield from (due for due in _around_fold(cron, tz, floor(after)) if due > after)
            after = float(floor(after) + FOLD_MAX_S)
            continue
        start = after  # no clock is turned back in the hours around it
        for due in _instants(cron, tz, walk(cron, wall_time(tz, floor(start)))):
            if due > after:
                if cron.every and due > start + FOLD_MAX_S and after > start:
                    break
                yield due
                after = due
        else:
            return


def _last_of_cron(schedule: Schedule, until: float) -> float | None:
    cron, tz, whole = read_cron(schedule.cron), zone_of(schedule.zone), floor(until)
    start = wall_time(tz, whole)
    found: float | None = None
    if _is_near_fold(tz, whole):
        # In the second of two hours, times that the wall clock has yet to reach have already been.
        start += FOLD_MAX_S
        if cron.every:
            found = max(
                (due for due in _around_fold(cron, tz, whole) if due <= until), default=None
            )
    if found is None:
        walls = walk(cron, start, backward=True)
        found = next((due for due in _instants(cron, tz, walls, fold=1) if due <= until), None)
    return found if found is not None and found > schedule.anchor else None


def _instants(cron: Cron, tz: tzinfo, walls: Iterator[int], *, fold: int = 0) -> Iterator[float]:
    """Yield when the wall shows each of these times. An expression that follows the hours that
    really pass has no run for a time in a gap, and `fold` says which of two runs it is."""
    for wall in walls:
        due = instant_at(tz, wall, fold=fold if cron.every else 0)
        if not (cron.every and wall_time(tz, due) != wall):
            yield float(due)


def _is_near_fold(tz: tzinfo, instant: int) -> bool:
    return _offset(tz, instant - FOLD_MAX_S) > _offset(tz, instant + FOLD_MAX_S)


def _around_fold(cron: Cron, tz: tzinfo, instant: int) -> list[float]:
    """Return the dues of the hours around `instant`, near which clocks are turned back: both of the
    instants at which the wall shows the same time."""
    first, last = instant - FOLD_MAX_S, instant + FOLD_MAX_S
    early, late = _offset(tz, first), _offset(tz, last)
    walls = takewhile(lambda wall: wall <= last + early, walk(cron, first + late))
    pairs = ((wall - offset, wall) for wall in walls for offset in (early, late))
    shown = {due for due, wall in pairs if first <= due <= last and wall_time(tz, due) == wall}
    return sorted(float(due) for due in shown)


def _offset(tz: tzinfo, instant: int) -> int:
    return _seconds(datetime.fromtimestamp(instant, UTC).astimezone(tz))


def _seconds(local: datetime) -> int:
    offset = local.utcoffset()
    assert offset is not None
    return offset.days * 86_400 + offset.seconds
