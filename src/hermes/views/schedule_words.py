"""Say in English when a schedule is due, so that a person can check that it was read as meant."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from hermes.core.cron import DAY_S, LAST, Cron, read_cron
from hermes.core.schedule import Schedule, local_time
from hermes.text.plurals import counted

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": DAY_S, "week": 7 * DAY_S}
WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

SOON_S = 120.0  # seconds count up to here
TIMES_MAX = 6  # more times of day than this are told as hours and minutes
WORKDAYS, WEEKEND = frozenset(range(1, 6)), frozenset({0, 6})


def in_words(schedule: Schedule, now: float) -> str:
    """Return “every weekday at 07:00 (Europe/Paris)” or “once, at 09:30 (in 30 minutes)”."""
    match schedule.kind:
        case "interval":
            return f"every {step_in_words(schedule.step)}"
        case "cron":
            return f"{cron_in_words(schedule.cron)} ({schedule.zone})"
        case "once":
            there = local_time(schedule.at, schedule.zone)
            here = local_time(now, schedule.zone)
            day = "" if there.date() == here.date() else f"on {there:%Y-%m-%d} "
            away = span_in_words(abs(schedule.at - now))
            when = f"in {away}" if schedule.at > now else f"{away} ago"
            soon = there.second and abs(schedule.at - now) < SOON_S
            clock = f"{there:%H:%M:%S}" if soon else f"{there:%H:%M}"
            return f"once, {day}at {clock} ({when})"
        case _:
            assert_never(schedule.kind)


def step_in_words(seconds: float) -> str:
    """Return “hour”, “2 weeks” or “90 minutes”: the largest unit that divides it."""
    name = [unit for unit, size in UNITS.items() if seconds % size == 0][-1]
    count = int(seconds // UNITS[name])
    return name if count == 1 else counted(count, name)


def span_in_words(seconds: float) -> str:
    """Return about how long that is: “45 seconds”, “1 hour 30 minutes”, “13 days”."""
    left = round(seconds) if seconds < SOON_S else round(seconds / 60) * 60
    if left >= 2 * 365 * DAY_S:
        return counted(left // (365 * DAY_S), "year")
    if left >= 2 * DAY_S:
        return counted(left // DAY_S, "day")
    sizes = [(name, size) for name, size in UNITS.items() if size <= min(left, DAY_S)][::-1]
    parts = []
    for name, size in sizes[:2]:
        count, left = divmod(left, size)
        parts += [counted(count, name)] if count else []
    return " ".join(parts) or "0 seconds"


def cron_in_words(text: str) -> str:
    """Return “every weekday at 07:00” for “0 7 * * MON-FRI”."""
    cron = read_cron(text)
    clock, days = _clock_in_words(cron), _days_in_words(cron)
    if clock.startswith("at "):
        return f"{days or 'every day'} {clock}"
    return f"{clock}, {days}" if days else clock


def _clock_in_words(cron: Cron) -> str:
    if cron.seconds != (0,):
        within = "" if len(cron.minutes) * len(cron.hours) == 1440 else _hours_in_words(cron)
        return _grid_in_words(cron.seconds, "second") + (f" of {within}" if within else "")
    if len(cron.hours) * len(cron.minutes) <= TIMES_MAX:
        return f"at {_all(f'{h:02}:{m:02}' for h in cron.hours for m in cron.minutes)}"
    return _hours_in_words(cron)


def _hours_in_words(cron: Cron) -> str:
    minutes, hours = _grid_in_words(cron.minutes, "minute"), cron.hours
    step = hours[1] - hours[0] if len(hours) > 1 else 24
    if len(cron.minutes) == 1 and 24 % step == 0 and hours == tuple(range(0, 24, step)):
        past = f" at minute {cron.minutes[0]}" if cron.minutes[0] else ""
        return f"every {'hour' if step == 1 else f'{step} hours'}{past}"
    if len(hours) == 24:
        return minutes
    if hours == tuple(range(hours[0], hours[-1] + 1)):
        return f"{minutes} from {hours[0]:02}:00 to {hours[-1]:02}:59"
    return f"{minutes.removesuffix(' of every hour')} in the hours {_all(map(str, hours))}"


def _grid_in_words(values: Sequence[int], unit: str) -> str:
    step = values[1] - values[0] if len(values) > 1 else 60
    if values == tuple(range(0, 60, step)) and step < 60 and 60 % step == 0:
        return f"every {unit}" if step == 1 else f"every {step} {unit}s"
    whole = "minute" if unit == "second" else "hour"
    return f"at {unit}{'s' if len(values) > 1 else ''} {_all(map(str, values))} of every {whole}"


def _days_in_words(cron: Cron) -> str:
    """Return which days, or nothing if it is every day."""
    months = (
        "" if len(cron.months) == 12 else _all(MONTHS[m - 1].title() for m in sorted(cron.months))
    )
    in_months = f" in {months}" if months else ""
    parts: list[str] = []
    if len(cron.days) < 31:
        ordinals = [f"{day}{_suffix(day)}" for day in sorted(cron.days) if day > 0]
        ordinals += ["last workday"] * (-2 in cron.days) + ["last day"] * (LAST in cron.days)
        parts.append(f"on the {_all(ordinals)} of {months or 'every month'}")
    if len(cron.weekdays) < 7 and cron.weekdays:
        parts.append(f"every {_weekdays_in_words(cron.weekdays)}{in_months}")
    if cron.nth:
        named = [
            f"{'last' if n < 0 else f'{n}{_suffix(n)}'} {WEEKDAYS[day].title()}"
            for day, n in sorted(cron.nth)
        ]
        parts.append(f"on the {_all(named)} of {months or 'every month'}")
    if not parts:
        return f"every day{in_months}" if months else ""
    return (
        " if it is also ".join(parts).replace("also every", "also")
        if cron.both
        else " or ".join(parts)
    )


def _weekdays_in_words(days: frozenset[int]) -> str:
    if days == WORKDAYS:
        return "weekday"
    if days == WEEKEND:
        return "Saturday and Sunday"
    return _all(WEEKDAYS[day].title() for day in sorted(days, key=lambda day: (day - 1) % 7))


def _suffix(number: int) -> str:
    return "th" if 10 < number < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _all(names: Iterable[str]) -> str:
    listed = list(names)
    return " and ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else listed[0]
