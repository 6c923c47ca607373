"""Read the words for a schedule: intervals, single times, cron expressions and some English.

What can be read in no way or in two is refused with the fix, never guessed.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import takewhile
from math import ceil
from typing import assert_never

from msgspec import Struct

from hermes.core.cron import ALIASES, DAY_S, DAYS, never_comes, read_cron
from hermes.core.cron import MONTHS as MONTH_NAMES
from hermes.core.errors import BadSchedule, UnreadableSchedule
from hermes.core.schedule import Schedule, instant_at, wall_time, zone_of
from hermes.views.schedule_words import MONTHS, UNITS, WEEKDAYS, span_in_words

TEXT_MAX = 200
WORDS_MAX = 16  # of a schedule in front of other text
SPAN_MAX_S = 50 * 366 * DAY_S
EXAMPLES = "“every 2h”, “in 30m”, “every weekday at 07:00”, “on the 1st at noon”, “0 7 * * MON-FRI”"

WORDS = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
NUMBERS = {word: number for number, word in enumerate(WORDS, 1)} | {"a": 1, "an": 1}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}

_UNIT = r"(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)"
_PART = re.compile(rf"(?:(\d+|{'|'.join(NUMBERS)})\s*)?\b{_UNIT}\b|(\d+){_UNIT}(?![a-z])")
_TIME = (
    rf"(?:noon|midnight|(?:\d{{1,2}}(?::\d\d)?|{'|'.join(WORDS)})(?: o'clock)?"
    r"(?: ?[ap]m)?(?: in the (?:morning|afternoon|evening))?)"
)
_TIMES = re.compile(rf"\bat ({_TIME}(?:(?:, and |, | and )(?:at )?{_TIME})*)(?![\w:])")
_ISO = re.compile(
    r"(?:at |on )?(\d{4}-\d\d-\d\d)(?:(?:t| | at )(\d\d:\d\d(?::\d\d)?) ?(z|[+-]\d\d:?\d\d)?)?"
)
_DAY = r"(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?"
_ORDINAL = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(ORDINALS)}|last)"
_LIST = r"(?:, and |, | and | & )"
_RANGE = r"(?: ?- ?| to | through )"
_MONTH = rf"(?:{'|'.join(rf'{name[:3]}(?:{name[3:]})?' for name in MONTHS)})"
_EVERY = r"(?:every|each)"
_DATE = re.compile(
    rf"(?:on )?(?:the )?(?:(?P<m1>{_MONTH}) (?P<d1>{_ORDINAL}|\d{{1,2}})"
    rf"|(?P<d2>{_ORDINAL}|\d{{1,2}}) (?:of )?(?P<m2>{_MONTH}))"
)


# A field of a cron expression; names and signs are only in the later ones.
_FIELD = re.compile(r"[\d*,/?-]+")
_NAMED_FIELD = re.compile(rf"(?:[\d*,/#?LW-]|{'|'.join((*DAYS, *MONTH_NAMES))})+", re.I)


class Every(Struct, frozen=True):
    """Again and again, `step` seconds apart."""

    step: float


class In(Struct, frozen=True):
    """Once, `delay` seconds from now."""

    delay: float


class At(Struct, frozen=True):
    """Once, at a time on the wall; `offset` is the distance from UTC if the text names it."""

    wall: int
    offset: int | None = None


class OnCalendar(Struct, frozen=True):
    """Whenever a cron expression matches."""

    cron: str


Reading = Every | In | At | OnCalendar


def parse_schedule(text: str, *, now: float, zone: str, seconds: bool = False) -> Schedule:
    """Read a schedule that a person wrote. `seconds` allows cron expressions with six fields. Raise
    BadSchedule with the fix if the text can be read in no way or in two, or if it never comes."""
    tz = zone_of(zone)
    anchor = float(ceil(now))  # whole seconds, because a due time is a part of names
    found = _read(text, wall_time(tz, ceil(now)))
    match found:
        case Every(step=step):
            return Schedule(text=text, kind="interval", zone=zone, anchor=anchor, step=step)
        case In(delay=delay):
            return Schedule(text=text, kind="once", zone=zone, anchor=anchor, at=anchor + delay)
        case At(wall=wall, offset=offset):
            at = float(instant_at(tz, wall) if offset is None else wall - offset)
            if at <= now:
                late = span_in_words(now - at)
                raise BadSchedule(f"“{text}” was {late} ago. Name a time that is still to come.")
            return Schedule(text=text, kind="once", zone=zone, anchor=anchor, at=at)
        case OnCalendar(cron=cron):
            if never_comes(read_cron(cron)):
                raise BadSchedule(f"“{text}” never comes: no month has that day. Name another day.")
            if len(cron.split()) == 6 and not seconds:
                raise BadSchedule(
                    f"“{text}” has six fields. Seconds are for jobs without a model; "
                    "leave the first field out."
                )
            return Schedule(text=text, kind="cron", zone=zone, anchor=anchor, cron=cron)
        case _:
            assert_never(found)


def _read(text: str, now: int) -> Reading:
    """Read the words for a schedule. `now` is the time on the wall, for “tomorrow”."""
    if len(text) > TEXT_MAX:
        raise BadSchedule(f"A schedule has at most {TEXT_MAX} characters. Try {EXAMPLES}.")
    plain = re.sub(r"\s+", " ", text.lower().replace("\u2019", "'").replace("a.m.", "am"))
    plain = plain.replace("p.m.", "pm").strip(" .,")
    if not plain:
        raise BadSchedule(f"Say when the job runs. Try {EXAMPLES}.")
    if re.match(rf"{_EVERY} (other|second \w+day) ?(?!.*\bmonth)", plain):
        raise BadSchedule(
            f"I can't count “{text}”. Use “every 2 days” or “every 2 weeks”, which count from now, "
            "or “on the second monday of the month at 09:00”."
        )
    found = (
        _read_cron_text(plain)
        or _read_interval(plain)
        or _read_instant(plain, now)
        or _read_calendar(plain)
    )
    if found is None:
        raise UnreadableSchedule(f"I can't read “{text}” as a schedule. Try {EXAMPLES}.")
    return found


def split_schedule(text: str, *, now: float, zone: str) -> tuple[str, str]:
    """Split “every weekday at seven, look at my inbox” into the schedule and the rest: the longest
    beginning that is a schedule counts. Raise BadSchedule if there is none."""
    words = list(re.finditer(r"\S+", text))
    if fields := _cron_fields([word[0] for word in words]):
        end = words[fields - 1].end()
        return text[:end], text[end:].strip()
    wall, refused = wall_time(zone_of(zone), ceil(now)), None
    for word in reversed(words[:WORDS_MAX]):
        head = text[: word.end()].rstrip(",;:.")
        try:
            _read(head, wall)
        except UnreadableSchedule:
            continue
        except BadSchedule as wrong:
            refused = wrong
        else:
            return head, text[word.end() :].strip()
    raise refused or UnreadableSchedule(f"“{text[:80]}” has no schedule in front. Try {EXAMPLES}.")


def _cron_fields(words: Sequence[str]) -> int:
    """Return how many of the first words are fields of a cron expression; 0 if they are not one."""
    if len(words) < 2 or not all(_FIELD.fullmatch(word) for word in words[:2]):
        return 0
    return sum(1 for _ in takewhile(_NAMED_FIELD.fullmatch, words[:5]))


def _read_cron_text(text: str) -> Reading | None:
    named = ALIASES.get(text if text.startswith("@") else f"@{text}")
    if named is not None and text != "midnight":
        return OnCalendar(named)
    if text.startswith("@"):
        raise BadSchedule(f"I don't know “{text}”. Choose one of: {', '.join(ALIASES)}.")
    parts = text.split()
    return OnCalendar(" ".join(parts).upper()) if _cron_fields(parts) else None


def _read_interval(text: str) -> Reading | None:
    often = re.fullmatch(rf"{_EVERY} (.+)", text)
    words = often[1] if often else text.removeprefix("in ")
    if re.fullmatch(rf"(\d+ ?|{'|'.join(NUMBERS)} )?(months?|mo|years?|y)", words):
        raise BadSchedule(
            f"Months and years differ in length, so I can't count “{text}”. "
            "Name a day instead: “on the 1st at 09:00”, or “0 9 1 1 *” for once a year."
        )
    span = read_span(words.replace("half an hour", "30 minutes"), bare=bool(often))
    if span is None:
        return None
    if not 0 < span <= SPAN_MAX_S:
        raise BadSchedule(f"“{text}” is out of range: use 1 second to 50 years.")
    return Every(span) if often else In(span)


def read_span(text: str, *, bare: bool = False) -> float | None:
    """Return the seconds of “1h30m” or “2 days and 3 hours”; `bare` allows “hour” for one hour."""
    total, rest = 0, text
    while rest:
        part = _PART.match(rest)
        if part is None:
            return None
        number, unit = part[1] or part[3], part[2] or part[4]
        if number is None and not (bare and rest == text):
            return None
        count = NUMBERS.get(number or "one") or int(number[:12])
        total += count * next(size for name, size in UNITS.items() if name[0] == unit[0])
        rest = re.sub(r"^(, | and | )", "", rest[part.end() :])
    return total


def _read_instant(text: str, now: int) -> Reading | None:
    iso = _ISO.fullmatch(text)
    if iso:
        day, clock, offset = iso.groups()
        if clock is None:
            raise BadSchedule(f"At what time? Write for example “at {day}T09:00”.")
        try:
            there = datetime.fromisoformat(f"{day}T{clock}{(offset or '').upper()}")
        except ValueError:
            raise BadSchedule(f"“{day} {clock}” is not a date and a time that exist.") from None
        away = there.utcoffset()
        wall = int(there.replace(tzinfo=UTC).timestamp())
        return At(wall, None if away is None else int(away.total_seconds()))
    times = _TIMES.search(text)
    rest = _without(text, times)
    if times is None or rest not in ("", "today", "tomorrow"):
        return None
    if not rest:
        raise BadSchedule(
            f"Once or every day? Write “today {text}”, “tomorrow {text}” or “every day {text}”."
        )
    found = _read_times(times[1], "")
    if len(found) > 1:
        raise BadSchedule("A single run has one time. Make a job for each, or write “every day …”.")
    [(hour, minute)] = found
    today = now - now % DAY_S + (DAY_S if rest == "tomorrow" else 0)
    return At(today + hour * 3600 + minute * 60)


def _read_calendar(text: str) -> Reading | None:
    times = _TIMES.search(text)
    phrase = _without(text, times)
    days = _read_days(phrase)
    if days is None:
        return None
    if times is None:
        raise BadSchedule(f"At what time? Write for example “{text} at 09:00”.")
    part = re.fullmatch(rf"{_EVERY} (morning|afternoon|evening|night)", phrase)
    found = _read_times(times[1], part[1] if part else "")
    hours, minutes = sorted({h for h, _ in found}), sorted({m for _, m in found})
    if len(hours) * len(minutes) != len(set(found)):
        raise BadSchedule(f"One job can't run “{times[0]}”. Make a job for each time.")
    clock = f"{','.join(map(str, minutes))} {','.join(map(str, hours))}"
    return OnCalendar(f"{clock} {days}")


def _read_times(text: str, part_of_day: str) -> list[tuple[int, int]]:
    return [_read_time(one, part_of_day) for one in re.findall(_TIME, text)]


def _read_time(text: str, part_of_day: str) -> tuple[int, int]:
    if text in ("noon", "midnight"):
        return (12 if text == "noon" else 0), 0
    first = re.match(r"\d+|[a-z]+", text)
    assert first is not None
    hour = NUMBERS.get(first[0]) or int(first[0])
    minute = int(found[1]) if (found := re.search(r":(\d\d)", text)) else 0
    half = re.search(r"([ap]m)|in the (\w+)", text)
    part = (half[1] or half[2]) if half else part_of_day
    late = part in ("pm", "afternoon", "evening") or (part == "night" and 6 <= hour <= 12)
    if half and half[1] and not 1 <= hour <= 12:
        raise BadSchedule(f"“{text}” is not a time: with am or pm, hours go from 1 to 12.")
    if part and hour <= 12:
        midnight = 24 if part == "night" else 12
        hour = hour % 12 + (12 if late else 0) if hour != 12 or part != "night" else midnight % 24
    if hour > 23 or minute > 59:
        raise BadSchedule(f"“{text}” is not a time. Write it as 07:30 or 7:30pm.")
    return hour, minute


def _read_days(phrase: str) -> str | None:
    """Return the last three fields of a cron expression for the words that name the days."""
    if re.fullmatch(rf"{_EVERY} (single )?(day|morning|afternoon|evening|night)|daily", phrase):
        return "* * *"
    if re.fullmatch(rf"(?:{_EVERY} |on )?(?:week|work|working )days?", phrase):
        return "* * MON-FRI"
    if re.fullmatch(rf"(?:{_EVERY} |on )?weekends?", phrase):
        return "* * SAT,SUN"
    return _read_names(phrase) or _read_days_of_month(phrase) or _read_day_of_year(phrase)


def _read_names(phrase: str) -> str | None:
    lead = rf"(?P<often>(?:{_EVERY} week|weekly) on |{_EVERY} )?(?:on |from )?"
    names = rf"(?P<names>{_DAY}s?(?:(?P<to>{_RANGE}){_DAY}s?|(?:{_LIST}(?:every )?{_DAY}s?)*))"
    found = re.fullmatch(lead + names, phrase)
    if not found:
        return None
    days = [_weekday(name) for name in re.findall(_DAY, found["names"])]
    plural = all(name.endswith("s") for name in re.findall(rf"{_DAY}s?", found["names"]))
    if not (found["often"] or found["to"] or plural):
        raise BadSchedule(f"Once or every week? Write “every {found['names']} at …” or a date.")
    if found["to"]:
        first, last = days
        days = [(first + more) % 7 for more in range((last - first) % 7 + 1)]
    return f"* * {','.join(WEEKDAYS[day][:3].upper() for day in days)}"


def _read_days_of_month(phrase: str) -> str | None:
    month = rf"(?:(?:of|in) )?(?:the|{_EVERY}) month|monthly"
    core, marks = re.subn(rf"^(?:{_EVERY} month|monthly) | (?:{month})$", "", phrase)
    nth = re.fullmatch(rf"(every )?(?:on )?(?:the )?({_ORDINAL}) ({_DAY})", core)
    if nth:
        which = _ordinal(nth[2])
        if nth[1] and not marks and which > 1:
            raise BadSchedule(f"Write “on the {nth[2]} {nth[3]} of the month at …”.")
        day = WEEKDAYS[_weekday(nth[3])][:3].upper()
        return f"* * {day}L" if which < 0 else f"* * {day}#{which}"
    each = rf"(?:the )?{_ORDINAL}(?: day)?"
    if not re.fullmatch(rf"(?:every |on )?{each}(?:{_LIST}{each})*", core):
        return None
    days = [_ordinal(one) for one in re.findall(_ORDINAL, core)]
    if re.search(r"last(?! day)", core) or not all(day <= 31 for day in days):
        return None
    return f"{','.join('L' if day < 0 else str(day) for day in days)} * *"


def _read_day_of_year(phrase: str) -> str | None:
    core, marks = re.subn(
        rf"^(?:{_EVERY} year|yearly|annually) | (?:of )?{_EVERY} year$|^{_EVERY} ", "", phrase
    )
    found = _DATE.fullmatch(core)
    if not found:
        return None
    if not marks:
        raise BadSchedule(f"Once or every year? Write “every year {phrase} at …” or a date.")
    month, day = found["m1"] or found["m2"], _ordinal(found["d1"] or found["d2"])
    number = next(n for n, name in enumerate(MONTHS, 1) if name.startswith(month[:3]))
    return f"{day} {number} *" if day > 0 else f"L {number} *"


def _without(text: str, times: re.Match[str] | None) -> str:
    if times is None:
        return text
    return f"{text[: times.start()].strip()} {text[times.end() :].strip()}".strip(" ,")


def _weekday(name: str) -> int:
    return next(n for n, full in enumerate(WEEKDAYS) if full.startswith(name[:3]))


def _ordinal(word: str) -> int:
    """Return which one of the month is meant; the last one is -1."""
    return -1 if word == "last" else ORDINALS.get(word) or int(re.sub(r"\D", "", word))
