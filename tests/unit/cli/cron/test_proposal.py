"""What counts as a schedule in a model's answer: the schedule alone, or nothing."""

import pytest

from hermes.cli.cron.proposal import read_proposal


@pytest.mark.parametrize(
    ("answer", "schedule"),
    [
        ("0 7 * * 1-5", "0 7 * * 1-5"),
        ("```\nevery 2h\n```", "every 2h"),
        ("`in 30m`\nThat is in half an hour.", "in 30m"),
        ("NONE", ""),
        ("none, it names no time", ""),
        ("", ""),
    ],
)
def test_the_first_line_is_the_schedule(answer: str, schedule: str) -> None:
    assert read_proposal(answer) == schedule
