"""The words for a schedule: what each form means, how it is read back, and what is refused."""

from datetime import datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes.core.errors import BadSchedule, UnreadableSchedule
from hermes.core.schedule import Schedule, due_after, dues_between, local_time
from hermes.views.schedule_text import parse_schedule, split_schedule
from hermes.views.schedule_words import cron_in_words, in_words, span_in_words

NOW = datetime.fromisoformat("2026-11-18T09:00:00+01:00").timestamp()  # a Wednesday
ZONE = "Europe/Paris"


def parsed(text: str, *, now: float = NOW, seconds: bool = False) -> Schedule:
    return parse_schedule(text, now=now, zone=ZONE, seconds=seconds)


@pytest.mark.parametrize(
    ("text", "step", "words"),
    [
        ("every 2h", 7200, "every 2 hours"),
        ("every 30m", 1800, "every 30 minutes"),
        ("every 1d", 86_400, "every day"),
        ("every 2 weeks", 1_209_600, "every 2 weeks"),
        ("every hour", 3600, "every hour"),
        ("each day", 86_400, "every day"),
        ("every 1h30m", 5400, "every 90 minutes"),
        ("Every 90 Minutes", 5400, "every 90 minutes"),
        ("every 5 min", 300, "every 5 minutes"),
        ("every two hours", 7200, "every 2 hours"),
        ("every 10s", 10, "every 10 seconds"),
    ],
)
def test_a01_every_is_a_grid_from_now(text: str, step: int, words: str) -> None:
    job = parsed(text)
    assert (job.kind, job.step, job.anchor) == ("interval", step, NOW)
    assert due_after(job, NOW) == NOW + step
    assert in_words(job, NOW) == words


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("in 30m", 1800),
        ("in half an hour", 1800),
        ("in an hour", 3600),
        ("1h 30m", 5400),
        ("2 hrs", 7200),
        ("in 2 days and 3 hours", 2 * 86_400 + 3 * 3600),
        ("at 2026-11-18T09:10", 600),
        ("at 2026-11-18T09:10:30", 630),
        ("at 2026-11-18T09:10+01:00", 600),
        ("at 2026-11-18T08:10Z", 600),
        ("2026-11-18 09:10", 600),
        ("on 2026-11-19 at 09:00", 86_400),
        ("today at 5pm", 8 * 3600),
        ("tomorrow at nine", 86_400),
        ("at noon today", 3 * 3600),
    ],
)
def test_a03_a_single_time_runs_once(text: str, seconds: int) -> None:
    job = parsed(text)
    assert job.kind == "once"
    assert dues_between(job, NOW, NOW + 1e9, 5) == (NOW + seconds,)


def test_a03_a_bare_duration_is_read_back_as_once() -> None:
    assert in_words(parsed("30m"), NOW) == "once, at 09:30 (in 30 minutes)"
    assert in_words(parsed("in 90s"), NOW) == "once, at 09:01:30 (in 1 minute 30 seconds)"
    later = parsed("at 2026-12-01T09:00")
    assert in_words(later, NOW) == "once, on 2026-12-01 at 09:00 (in 13 days)"
    assert in_words(later, NOW + 14 * 86_400) == "once, on 2026-12-01 at 09:00 (1 day ago)"


def test_a05_a_single_time_in_a_gap_runs_at_its_end_and_in_a_fold_the_first_time() -> None:
    gap, fold = parsed("at 2027-03-28T02:30"), parsed("at 2027-10-31T02:30")
    assert local_time(gap.at, ZONE).isoformat() == "2027-03-28T03:00:00+02:00"
    assert local_time(fold.at, ZONE).isoformat() == "2027-10-31T02:30:00+02:00"


@pytest.mark.parametrize(
    ("text", "cron", "words"),
    [
        ("every weekday at seven", "0 7 * * MON-FRI", "every weekday at 07:00"),
        ("Weekdays at 7:30.", "30 7 * * MON-FRI", "every weekday at 07:30"),
        ("at 7 on weekdays", "0 7 * * MON-FRI", "every weekday at 07:00"),
        ("monday to friday at 8", "0 8 * * MON,TUE,WED,THU,FRI", "every weekday at 08:00"),
        ("daily at 9am", "0 9 * * *", "every day at 09:00"),
        ("every day at 7 and 19", "0 7,19 * * *", "every day at 07:00 and 19:00"),
        (
            "every day at 9am, 1pm and 5 p.m.",
            "0 9,13,17 * * *",
            "every day at 09:00, 13:00 and 17:00",
        ),
        ("every morning at seven", "0 7 * * *", "every day at 07:00"),
        ("every evening at six", "0 18 * * *", "every day at 18:00"),
        ("every night at 11", "0 23 * * *", "every day at 23:00"),
        ("every night at 12", "0 0 * * *", "every day at 00:00"),
        ("every night at 2", "0 2 * * *", "every day at 02:00"),
        ("every day at 7 in the evening", "0 19 * * *", "every day at 19:00"),
        ("every day at 12am", "0 0 * * *", "every day at 00:00"),
        ("every day at 12:15pm", "15 12 * * *", "every day at 12:15"),
        ("every day at seven o'clock", "0 7 * * *", "every day at 07:00"),
        ("every monday at 9am", "0 9 * * MON", "every Monday at 09:00"),
        ("mondays at 9", "0 9 * * MON", "every Monday at 09:00"),
        ("every week on tuesday at 3pm", "0 15 * * TUE", "every Tuesday at 15:00"),
        (
            "on mondays, wednesdays and fridays at 6:45",
            "45 6 * * MON,WED,FRI",
            "every Monday, Wednesday and Friday at 06:45",
        ),
        ("every weekend at 10", "0 10 * * SAT,SUN", "every Saturday and Sunday at 10:00"),
        ("on the 1st at noon", "0 12 1 * *", "on the 1st of every month at 12:00"),
        (
            "on the 1st and 15th of every month at 09:00",
            "0 9 1,15 * *",
            "on the 1st and 15th of every month at 09:00",
        ),
        ("monthly on the 5th at 8am", "0 8 5 * *", "on the 5th of every month at 08:00"),
        (
            "on the last day of the month at 18:00",
            "0 18 L * *",
            "on the last day of every month at 18:00",
        ),
        (
            "on the first monday of the month at 9",
            "0 9 * * MON#1",
            "on the 1st Monday of every month at 09:00",
        ),
        (
            "on the last friday at 17:00",
            "0 17 * * FRIL",
            "on the last Friday of every month at 17:00",
        ),
        ("every year on december 24 at 18:00", "0 18 24 12 *", "on the 24th of December at 18:00"),
        ("every 24th of december at noon", "0 12 24 12 *", "on the 24th of December at 12:00"),
        ("hourly", "0 * * * *", "every hour"),
        ("daily", "0 0 * * *", "every day at 00:00"),
        ("@weekly", "0 0 * * 0", "every Sunday at 00:00"),
        ("@yearly", "0 0 1 1 *", "on the 1st of January at 00:00"),
        ("0 7 * * mon-fri", "0 7 * * MON-FRI", "every weekday at 07:00"),
    ],
)
def test_a04_plain_words_are_read_and_read_back(text: str, cron: str, words: str) -> None:
    job = parsed(text)
    assert (job.kind, job.cron, job.text) == ("cron", cron, text)
    assert in_words(job, NOW) == f"{words} ({ZONE})"


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/15 9-17 * * MON-FRI", "every 15 minutes from 09:00 to 17:59, every weekday"),
        ("0 */2 * * *", "every 2 hours"),
        ("20 * * * *", "every hour at minute 20"),
        ("5,35 8,9,12,20 * * *", "every day at minutes 5 and 35 in the hours 8, 9, 12 and 20"),
        ("0 9 13 * FRI", "on the 13th of every month or every Friday at 09:00"),
        ("0 9 */10 * MON", "on the 1st, 11th, 21st and 31st of every month if it is also Monday"),
        ("5 4 * JAN,JUL 1-5", "every weekday in January and July at 04:05"),
        ("0 4 * 7 *", "every day in July at 04:00"),
        ("0 9 LW * *", "on the last workday of every month at 09:00"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("5 * * * * *", "every day at second 5 of every minute"),
    ],
)
def test_cron_expressions_are_read_back_in_words(cron: str, words: str) -> None:
    assert cron_in_words(cron).startswith(words)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("", "Say when"),
        ("soon", "every weekday at 07:00"),
        ("every 5", "Try “every 2h”"),
        ("5", "Try “every 2h”"),
        ("every monday at 9 sharp", "Try “every 2h”"),
        ("x" * 201, "at most 200"),
        ("monday at 9", "Once or every week"),
        ("at 9:30", "tomorrow at 9:30"),
        ("on december 24 at 18:00", "every year on december 24"),
        ("every weekday", "every weekday at 09:00"),
        ("on the 1st", "on the 1st at 09:00"),
        ("at 2026-12-01", "at 2026-12-01T09:00"),
        ("at 2026-13-01T09:00", "not a date"),
        ("at 2026-02-30T09:00", "not a date"),
        ("at 2026-11-18T08:59", "1 minute ago"),
        ("at 2020-01-01T00:00", "6 years ago"),
        ("today at 8", "1 hour ago"),
        ("every month", "on the 1st at 09:00"),
        ("in 2 years", "Name a day instead"),
        ("every 0m", "1 second to 50 years"),
        ("every 99999999999999999999 days", "1 second to 50 years"),
        ("every day at 25:00", "07:30 or 7:30pm"),
        ("every day at 13pm", "from 1 to 12"),
        ("every day at 7:15 and 19:30", "Make a job for each"),
        ("tomorrow at 7 and 9", "has one time"),
        ("every other monday at 9", "every 2 weeks"),
        ("every second monday at 9", "every 2 weeks"),
        ("every third monday at 9", "of the month"),
        ("@often", "@hourly"),
        ("0 0 30 2 *", "never comes"),
        ("every year on february 30 at noon", "never comes"),
        ("* * * *", "4 fields"),
        ("*/10 * * * * *", "jobs without a model"),
    ],
)
def test_a26_what_cannot_be_read_is_refused_with_the_fix(text: str, fix: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        parsed(text)
    assert fix in str(refused.value)


def test_a02_six_fields_are_for_jobs_without_a_model() -> None:
    assert parsed("*/10 * * * * *", seconds=True).cron == "*/10 * * * * *"


def test_the_instant_of_making_is_a_whole_second_and_not_before() -> None:
    job = parsed("in 10s", now=NOW + 0.4)
    assert job.at == NOW + 11


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 seconds"), (1, "1 second"), (3660, "1 hour 1 minute"), (7205, "2 hours")],
)
def test_spans_are_told_in_two_units_at_most(seconds: int, words: str) -> None:
    assert span_in_words(seconds) == words


WORDS = (
    *("every", "each", "on", "the", "at", "in", "and", ",", "of", "month", "year", "week", "day"),
    *("days", "1st", "31st", "last", "first", "second", "monday", "fridays", "to", "-", "7", "12"),
    *("7:30", "am", "pm", "noon", "tomorrow", "2026-12-01", "09:00", "december", "24", "2h", "*"),
    *("*/2", "0", "L", "MON#1", "weekday", "monthly", "evening", "99", "an", "hour", "half", "@"),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=40))
@example("1/2/3 * * * *")
def test_any_text_is_a_schedule_that_comes_or_a_sentence(text: str) -> None:
    try:
        job = parsed(text)
    except BadSchedule:
        return
    due = due_after(job, NOW)
    assert due is not None
    assert due > NOW
    assert in_words(job, NOW)


@pytest.mark.parametrize(
    ("text", "schedule", "rest"),
    [
        (
            "every weekday at seven, look at my inbox",
            "every weekday at seven",
            "look at my inbox",
        ),
        ("every 2h check the build", "every 2h", "check the build"),
        ("30m tea!", "30m", "tea!"),
        ("in 30 minutes: take the\nbread out", "in 30 minutes", "take the\nbread out"),
        ("0 7 * * MON-FRI look at 5 things", "0 7 * * MON-FRI", "look at 5 things"),
        ("*/5 * * * * 3 cheers", "*/5 * * * *", "3 cheers"),
        ("at 2026-12-01T09:00 call Ann", "at 2026-12-01T09:00", "call Ann"),
        ("2026-12-01 09:00 call Ann", "2026-12-01 09:00", "call Ann"),
        ("@daily say hello", "@daily", "say hello"),
        ("on the 1st at noon pay the rent", "on the 1st at noon", "pay the rent"),
        ("every 2h", "every 2h", ""),
    ],
)
def test_a04_a_schedule_in_front_of_a_task_is_found(text: str, schedule: str, rest: str) -> None:
    assert split_schedule(text, now=NOW, zone=ZONE) == (schedule, rest)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("every weekday look at my inbox", "every weekday at 09:00"),
        ("monday at 9 do it", "Once or every week"),
    ],
)
def test_a04_a_schedule_that_lacks_something_names_it(text: str, fix: str) -> None:
    with pytest.raises(BadSchedule, match=fix):
        split_schedule(text, now=NOW, zone=ZONE)


def test_a04_what_has_no_form_of_a_schedule_may_be_read_by_a_model() -> None:
    for text in ("when the moon is full", "", "look at my inbox every weekday"):
        with pytest.raises(UnreadableSchedule):
            split_schedule(text, now=NOW, zone=ZONE)
