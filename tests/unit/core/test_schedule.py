"""When a job is due: against a clock that is read every minute, and when clocks change."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.cron import never_comes, read_cron
from hermes.core.errors import BadSchedule
from hermes.core.schedule import (
    Schedule,
    due_after,
    dues_between,
    last_due,
    shortest_gap,
    zone_of,
)

MINUTE, HOUR, DAY = 60, 3600, 86_400
# Nights around a change: an hour forward and back, half an hour, at midnight, two hours, none.
NIGHTS = {
    "Europe/Paris": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "America/St_Johns": ("2026-03-08", "2026-11-01"),
    "Australia/Lord_Howe": ("2026-10-04", "2026-04-05"),
    "America/Havana": ("2026-03-08", "2026-11-01"),
    "Africa/Cairo": ("2026-04-24", "2026-10-30"),
    "Antarctica/Troll": ("2026-03-29", "2026-10-25"),
    "America/Santiago": ("2026-09-06", "2026-04-05"),
    "Asia/Tokyo": ("2026-06-01", "2026-12-01"),
}


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def cron(text: str, zone: str = "UTC", *, made: float = 0.0) -> Schedule:
    return Schedule(text=text, kind="cron", zone=zone, anchor=made, cron=text)


def interval(step: float, *, made: float) -> Schedule:
    return Schedule(text="", kind="interval", zone="UTC", anchor=made, step=step)


def shown(schedule: Schedule, since: str, count: int) -> list[str]:
    """The next dues, each as the clock on the wall shows it, with its distance from UTC."""
    zone = ZoneInfo(schedule.zone)
    dues = dues_between(schedule, at(since), 1e12, count)
    return [datetime.fromtimestamp(due, zone).isoformat(timespec="minutes") for due in dues]


class Fields(NamedTuple):
    """A cron expression as the sets that its text was made from."""

    minutes: Sequence[int]
    hours: Sequence[int]
    stars: tuple[bool, bool]

    @property
    def text(self) -> str:
        minute = "*" if self.stars[0] else ",".join(map(str, self.minutes))
        hour = "*" if self.stars[1] else ",".join(map(str, self.hours))
        return f"{minute} {hour} * * *"

    def match(self, wall: datetime) -> bool:
        return (self.stars[0] or wall.minute in self.minutes) and (
            self.stars[1] or wall.hour in self.hours
        )


def by_reading_the_clock(fields: Fields, zone: ZoneInfo, first: int, last: int) -> list[float]:
    """Every due in [first, last], found by looking at the wall every minute."""
    read = [
        (t, datetime.fromtimestamp(t, UTC).astimezone(zone)) for t in range(first, last + 1, 60)
    ]
    walls = [(t, wall.replace(tzinfo=None, fold=0)) for t, wall in read]
    if any(fields.stars):
        return [float(t) for t, wall in walls if fields.match(wall)]
    found: set[float] = set()
    reached = walls[0][1]  # the latest time that the wall has shown
    for t, wall in walls[1:]:
        while reached < wall:
            reached += timedelta(minutes=1)
            if fields.match(reached):
                found.add(float(t))
    return sorted(found)


fields_of_day = st.builds(
    Fields,
    st.lists(st.integers(0, 59), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=1, max_size=2)
    | st.lists(st.integers(0, 23), min_size=1, max_size=6),
    st.tuples(st.booleans(), st.booleans()),
)
nights = st.sampled_from([(zone, day) for zone, days in NIGHTS.items() for day in days])


@settings(max_examples=80, deadline=None)
@given(fields_of_day, nights, st.integers(0, 20 * 60))
def test_a05_cron_is_due_when_a_clock_on_the_wall_says_so(
    fields: Fields, night: tuple[str, str], minute: int
) -> None:
    zone, day = night
    first = int(at(f"{day}T00:00+00:00")) - 18 * HOUR + minute * MINUTE
    last = first + 22 * HOUR
    job = cron(fields.text, zone)
    expected = [t for t in by_reading_the_clock(fields, ZoneInfo(zone), first, last) if t > first]
    assert list(dues_between(job, first, last, 5_000)) == expected
    for until in {last, first + 9 * HOUR, first + 13 * HOUR + 17.5, *expected[:3]}:
        before = [t for t in expected if t <= until]
        assert last_due(job, first, until) == (before[-1] if before else None)


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(1, 31), min_size=1, max_size=4),
    st.sets(st.integers(1, 12), min_size=1, max_size=4),
    st.sets(st.integers(0, 7), max_size=3),
    st.integers(0, 40 * 366),
)
def test_a02_days_of_month_and_of_week_are_those_of_debian(
    days: set[int], months: set[int], weekdays: set[int], start: int
) -> None:
    text = f"0 12 {_list(days)} {_list(months)} {_list(weekdays) if weekdays else '*'}"
    if never_comes(read_cron(text)):
        assert not weekdays
        return
    first = datetime(1990, 1, 1, tzinfo=UTC) + timedelta(days=start)
    due = due_after(cron(text), first.timestamp())
    assert due is not None
    day = first
    while not (
        day.month in months
        and (day.day in days or bool(weekdays & {day.isoweekday(), day.isoweekday() % 7}))
    ):
        day += timedelta(days=1)
    assert datetime.fromtimestamp(due, UTC) == day.replace(hour=12)


def _list(numbers: set[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**7), st.integers(0, 2**31), st.floats(0, 2**32), st.integers(0, 2**20))
def test_a01_an_interval_is_a_grid_from_the_instant_when_it_was_made(
    step: int, made: int, after: float, more: int
) -> None:
    job = interval(step, made=made)
    due = due_after(job, after)
    assert due is not None
    assert due > after
    assert (due - made) % step == 0
    assert due - step <= max(after, made)
    until = after + more
    dues = dues_between(job, after, until, 50)
    assert all((one - made) % step == 0 and after < one <= until for one in dues)
    latest = last_due(job, after, until)
    assert (latest is None) == (dues == ())
    if latest is not None:
        assert (latest - made) % step == 0
        assert latest <= until < latest + step


@pytest.mark.parametrize(
    ("text", "zone", "since", "due"),
    [
        # A time in the gap runs at its end, and only that night.
        ("30 2 * * *", "Europe/Paris", "2026-03-28T12:00Z", "2026-03-29T03:00+02:00"),
        ("30 2 * * *", "Europe/Paris", "2026-03-29T12:00Z", "2026-03-30T02:30+02:00"),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00Z", "2026-10-04T02:30+11:00"),
        ("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00Z", "2026-04-24T01:00+03:00"),
        ("30 1 * * *", "Antarctica/Troll", "2026-03-28T12:00Z", "2026-03-29T03:00+02:00"),
        # A time that comes twice runs the first time.
        ("30 2 * * *", "Europe/Paris", "2026-10-24T12:00Z", "2026-10-25T02:30+02:00"),
        ("30 2 * * *", "Europe/Paris", "2026-10-25T00:30Z", "2026-10-26T02:30+01:00"),
        ("30 1 * * *", "America/New_York", "2026-10-31T20:00Z", "2026-11-01T01:30-04:00"),
        # What names no hour runs in both.
        ("*/30 * * * *", "Europe/Paris", "2026-10-25T00:30Z", "2026-10-25T02:00+01:00"),
        ("*/30 * * * *", "Europe/Paris", "2026-10-25T01:00Z", "2026-10-25T02:30+01:00"),
        ("*/30 * * * *", "Europe/Paris", "2026-03-29T00:30Z", "2026-03-29T03:00+02:00"),
    ],
)
def test_a05_a_night_when_clocks_change(text: str, zone: str, since: str, due: str) -> None:
    assert shown(cron(text, zone), since, 1) == [due]


def test_a05_the_last_run_of_a_night_is_found_from_months_away() -> None:
    job = cron("*/30 2 25 10 *", "Europe/Paris")
    assert last_due(job, 0.0, at("2026-12-01T00:00Z")) == at("2026-10-25T02:30+01:00")


def test_a05_two_times_in_one_gap_run_once() -> None:
    job = cron("10,40 2 * * *", "Europe/Paris")
    assert shown(job, "2026-03-28T12:00Z", 2) == [
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:10+02:00",
    ]


@pytest.mark.parametrize(
    ("text", "since", "dues"),
    [
        ("0 9 * * MON#1", "2026-11-18T00:00Z", ["2026-12-07", "2027-01-04", "2027-02-01"]),
        ("0 9 * * 5L", "2026-11-18T00:00Z", ["2026-11-27", "2026-12-25", "2027-01-29"]),
        ("0 9 L * *", "2026-11-18T00:00Z", ["2026-11-30", "2026-12-31", "2027-01-31"]),
        ("0 9 LW * *", "2027-01-01T00:00Z", ["2027-01-29", "2027-02-26", "2027-03-31"]),
        ("0 9 29 FEB *", "2026-11-18T00:00Z", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 9 13 * FRI", "2026-11-10T00:00Z", ["2026-11-13", "2026-11-20", "2026-11-27"]),
        ("0 9 * 2 MON#5", "2026-11-18T00:00Z", ["2044-02-29", "2072-02-29"]),
        ("0 9 1-7/3 jan,Jul *", "2026-11-18T00:00Z", ["2027-01-01", "2027-01-04", "2027-01-07"]),
        ("0 9 * * 6,7", "2026-11-18T00:00Z", ["2026-11-21", "2026-11-22", "2026-11-28"]),
    ],
)
def test_a02_names_lists_steps_last_and_nth(text: str, since: str, dues: list[str]) -> None:
    assert [due[:10] for due in shown(cron(text), since, 3)][: len(dues)] == dues


def test_a02_six_fields_have_the_second_in_front() -> None:
    job = cron("*/20 30 9 * * *")
    found = dues_between(job, at("2026-11-18T09:30:10Z"), 1e12, 3)
    assert [due % 60 for due in found] == [20, 40, 0]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("61 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day of the month"),
        ("* * * 13 *", "month"),
        ("* * * FEBR *", "month"),
        ("* * * * 8", "day of the week"),
        ("* * * * MON#6", "MON#1"),
        ("* * * * L", "day of the week"),
        ("*/0 * * * *", "step"),
        ("*/99 * * * *", "step"),
        ("* * * * SAT-SUN", "from low to high"),
        ("* * * *", "4 fields"),
        ("* * * * * * *", "7 fields"),
        ("* * ? * *", "day of the month"),
        ("1,,2 * * * *", "minute"),
        ("² * * * *", "minute"),
        ("9" * 150 + " * * * *", "minute"),
    ],
)
def test_a26_a_bad_expression_is_refused_with_its_field(text: str, named: str) -> None:
    with pytest.raises(BadSchedule, match=named):
        read_cron(text)


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30,31 FEB *"])
def test_a26_what_never_comes_is_known(text: str) -> None:
    assert never_comes(read_cron(text))
    assert due_after(cron(text), 0.0) is None
    assert last_due(cron(text), 0.0, at("2026-01-01T00:00Z")) is None


def test_nothing_is_due_before_the_job_was_made() -> None:
    made = at("2026-11-18T09:00Z")
    job = cron("0 * * * *", made=made)
    assert due_after(job, made - 10 * DAY) == made + HOUR
    assert last_due(job, made - 10 * DAY, made) is None
    grid = interval(HOUR, made=made)
    assert due_after(grid, made - 10 * DAY) == made + HOUR
    assert last_due(grid, made - 10 * DAY, made + MINUTE) is None


def test_a_single_run_is_due_once() -> None:
    job = Schedule(text="", kind="once", zone="UTC", anchor=0.0, at=100.0)
    assert (due_after(job, 99.0), due_after(job, 100.0)) == (100.0, None)
    assert dues_between(job, 0.0, 1e9, 5) == (100.0,)
    assert last_due(job, 0.0, 1e9) == 100.0
    assert last_due(job, 100.0, 1e9) is None


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("* * * * *", MINUTE),
        ("*/15 * * * *", 15 * MINUTE),
        ("0,50 * * * *", 10 * MINUTE),
        ("59 23,0 * * *", HOUR),
        ("0 7 * * MON", DAY),
        ("*/10 * * * * *", 10),
        ("5,50 0 * * * *", 45),
        ("58 59 23 * * *", DAY),
        ("0,50 * * * * *", 10),
    ],
)
def test_a26_the_shortest_gap_is_known_before_anything_runs(text: str, gap: int) -> None:
    assert shortest_gap(cron(text)) == gap


def test_an_unknown_zone_is_refused_with_an_example() -> None:
    for name in ("Europe/Pariss", "", "../../etc/passwd", "/etc/localtime", "Mars", "Europe"):
        with pytest.raises(BadSchedule, match="Europe/Paris"):
            zone_of(name)


@pytest.mark.parametrize("ask", [due_after, lambda job, t: last_due(job, 0.0, t)])
def test_the_work_is_bounded_for_any_expression(
    ask: Callable[[Schedule, float], float | None],
) -> None:
    """The rarest day comes at most forty years away, so a look never visits more than fifty."""
    for text in ("0 0 29 2 *", "0 0 * 2 MON#5", "* * * * *", "0 0 30 2 *", "59 59 23 31 12 *"):
        for year in (1999, 2026, 2072, 2101):
            found = ask(cron(text), datetime(year, 3, 1, tzinfo=UTC).timestamp())
            assert found is not None or text == "0 0 30 2 *" or year == 1999
