"""Times for people are short and local; times for programs are ISO and UTC."""

import time
from collections.abc import Iterator

import pytest

from hermes.cli.output.times import ago, file_stamp, iso, stamp, took

NOW = 1_760_000_000.0  # in UTC: 9 October 2025, 08:53:20


@pytest.fixture(autouse=True)
def _far_from_utc() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("past", "said"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (3600, "1 h ago"),
        (23 * 3600, "23 h ago"),
        (3 * 86400, "06 Oct 14:23"),
        (800 * 86400, "01 Aug 2023"),
        (-30, "just now"),
        (-7200, "16:23"),
    ],
)
def test_a_moment_is_told_by_its_distance(past: float, said: str) -> None:
    assert ago(NOW - past, NOW) == said


def test_a_stamp_leaves_out_what_is_today() -> None:
    assert stamp(NOW, NOW) == "14:23"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0 ms"),
        (0.0421, "42 ms"),
        (2.25, "2.2 s"),
        (75, "1 min 15 s"),
        (3600 * 5 + 61, "5 h 1 min"),
    ],
)
def test_a_duration_is_told_in_two_parts_at_most(seconds: float, said: str) -> None:
    assert took(seconds) == said


def test_programs_get_utc() -> None:
    assert iso(NOW + 0.5) == "2025-10-09T08:53:20.500+00:00"
    assert iso(None) is None


def test_a_file_is_named_by_the_local_time() -> None:
    assert file_stamp(NOW) == "20251009-142320"
