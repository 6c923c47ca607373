"""Read cron expressions, and walk through the wall-clock times that match them.

This file knows no time zones: a wall-clock time is a number, the seconds since 1970-01-01 00:00 on
the clock on the wall. `core/schedule.py` turns such times into instants.
"""

from collections.abc import Iterator
from datetime import date, timedelta

from msgspec import Struct

from hermes.core.errors import BadSchedule

DAY_S = 86_400
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
# The rarest day, 29 February on one weekday, comes every 28 years and over 2100 after forty.
HORIZON_DAYS = 50 * 366
LAST = -1  # the last one in its month
LAST_WORKDAY = -2

DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class CronField(Struct, frozen=True):
    """One field of an expression: its name, what may be in it, and names for its numbers."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def read(self, text: str) -> tuple[int, ...]:
        """Return the numbers of a list of values, ranges and steps, in order."""
        return tuple(sorted({value for term in text.split(",") for value in self._term(term)}))

    def _term(self, term: str) -> range:
        base, slash, step = term.partition("/")
        if slash and not (_is_number(step) and 0 < int(step) <= self.high):
            raise self.wrong(term, f"a step is a number from 1 to {self.high}")
        first, dash, last = base.partition("-")
        if base == "*":
            low, high = self.low, self.high
        else:
            low = self.value(first)
            high = self.value(last) if dash else self.high if slash else low
        if high < low:
            raise self.wrong(term, "a range goes from low to high; write two of them instead")
        return range(low, high + 1, int(step) if slash else 1)

    def value(self, text: str) -> int:
        if text in self.names:
            return self.low + self.names.index(text)
        if not (_is_number(text) and self.low <= int(text) <= self.high):
            names = f" or a name ({', '.join(self.names)})" if self.names else ""
            raise self.wrong(text, f"it takes numbers from {self.low} to {self.high}{names}")
        return int(text)

    def wrong(self, text: str, fix: str) -> BadSchedule:
        return BadSchedule(f"I can't read “{text}” as the {self.name} of a cron expression: {fix}.")


SECOND, MINUTE, HOUR = (
    CronField("second", 0, 59),
    CronField("minute", 0, 59),
    CronField("hour", 0, 23),
)
DAY, MONTH = CronField("day of the month", 1, 31), CronField("month", 1, 12, MONTHS)
WEEKDAY = CronField("day of the week", 0, 7, DAYS)


class Cron(Struct, frozen=True, kw_only=True):
    """An expression, read. `nth` holds weekdays of which only one in a month counts, with which
    one; `days` may hold LAST and LAST_WORKDAY."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # Sunday is 0
    nth: frozenset[tuple[int, int]]
    both: bool  # day of the month and day of the week must match, not one of them
    every: bool  # it names no time of day, so it follows the hours that really pass

    def has_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month = day.day in self.days or (min(self.days) < 0 and self._is_last(day))
        if of_month is not self.both:
            return of_month
        weekday = day.isoweekday() % 7
        if weekday in self.weekdays or (weekday, (day.day + 6) // 7) in self.nth:
            return True
        return (weekday, LAST) in self.nth and (day + timedelta(7)).month != day.month

    def _is_last(self, day: date) -> bool:
        if LAST in self.days and (day + timedelta(1)).month != day.month:
            return True
        to_next = timedelta(3 if day.weekday() == 4 else 1)  # workday
        return (
            LAST_WORKDAY in self.days and day.weekday() < 5 and (day + to_next).month != day.month
        )


def read_cron(text: str) -> Cron:
    """Read five fields (minute, hour, day, month, weekday), or six with the second in front. Raise
    BadSchedule with the field and the fix if that fails."""
    parts = text.upper().split()
    if len(parts) == 5:
        parts.insert(0, "0")
    if len(parts) != 6:
        raise BadSchedule(f"“{text}” has {len(parts)} fields; a cron expression has five.")
    weekdays, nth = _read_weekdays(parts[5])
    return Cron(
        seconds=SECOND.read(parts[0]),
        minutes=MINUTE.read(parts[1]),
        hours=HOUR.read(parts[2]),
        days=_read_days(parts[3]),
        months=frozenset(MONTH.read(parts[4])),
        weekdays=weekdays,
        nth=nth,
        both=parts[3].startswith("*") or parts[5].startswith("*"),
        every=parts[1].startswith("*") or parts[2].startswith("*"),
    )


def never_comes(cron: Cron) -> bool:
    """Return True if no day matches, such as 30 February."""
    return next(walk(cron, 0), None) is None


def walk(cron: Cron, start: int, *, backward: bool = False) -> Iterator[int]:
    """Yield the matching wall-clock times from `start` on (inclusive), up to fifty years away."""
    way = -1 if backward else 1
    hours, minutes, seconds = cron.hours[::way], cron.minutes[::way], cron.seconds[::way]
    first, bound = divmod(start, DAY_S)
    for day in range(first, first + way * HORIZON_DAYS, way):
        if cron.has_day(date.fromordinal(EPOCH_ORDINAL + day)):
            for hour in hours:
                if day == first and (hour - bound // 3600) * way < 0:
                    continue
                for minute in minutes:
                    for second in seconds:
                        at = hour * 3600 + minute * 60 + second
                        if day != first or (at - bound) * way >= 0:
                            yield day * DAY_S + at


def shortest_gap_s(cron: Cron) -> int:
    """Return the least number of seconds between two times of the expression."""
    times = [h * 3600 + m * 60 for h in cron.hours for m in cron.minutes]
    gaps = [b - a for a, b in zip(times, [*times[1:], times[0] + DAY_S], strict=True)]
    last, first = cron.seconds[-1], cron.seconds[0]
    within = [b - a for a, b in zip(cron.seconds, cron.seconds[1:], strict=False)]
    return min([*within, min(gaps) - last + first])


def _read_days(text: str) -> frozenset[int]:
    special = {"L": LAST, "LW": LAST_WORKDAY}
    terms = text.split(",")
    plain = [term for term in terms if term not in special]
    found = {special[term] for term in terms if term in special}
    return frozenset(found | set(DAY.read(",".join(plain)) if plain else ()))


def _read_weekdays(text: str) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    plain: list[str] = []
    nth: set[tuple[int, int]] = set()
    for term in text.split(","):
        name, hash_mark, which = term.partition("#")
        if hash_mark:
            if not (_is_number(which) and 1 <= int(which) <= 5):
                raise WEEKDAY.wrong(term, "write for example MON#1 for the first Monday")
            nth.add((WEEKDAY.value(name) % 7, int(which)))
        elif len(term) > 1 and term.endswith("L"):
            nth.add((WEEKDAY.value(term[:-1]) % 7, LAST))
        else:
            plain.append(term)
    days = WEEKDAY.read(",".join(plain)) if plain else ()
    return frozenset(day % 7 for day in days), frozenset(nth)


def _is_number(text: str) -> bool:
    return len(text) <= 4 and text.isascii() and text.isdigit()
