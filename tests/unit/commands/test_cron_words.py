"""The words of `/cron`: options among text, as people type them on phones and keyboards."""

import pytest

from hermes.commands.cron_words import quoted_first, read_words, request_of
from hermes.core.errors import Rejected
from hermes.views.jobs import JobRequest


def test_options_are_taken_out_of_the_text() -> None:
    words = read_words("every 2h --name build check the build\n--deliver home,telegram:5 now")
    assert words.rest == "every 2h  check the build\n now"
    wanted = request_of(words)
    assert wanted == JobRequest(name="build", deliver=("home", "telegram:5"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('--name "my job"', JobRequest(name="my job")),
        ("--name “my job”", JobRequest(name="my job")),
        ("--name=build", JobRequest(name="build")),
        ("—name build", JobRequest(name="build")),
        ("--skill a --skill b,c", JobRequest(skills=("a", "b", "c"))),
        ("--no-agent --script check.sh", JobRequest(no_agent=True, script="check.sh")),
        ("--repeat 3 --budget 50000", JobRequest(repeat=3, tokens_max=50_000)),
        ("--timeout 10m", JobRequest(timeout_s=600.0)),
        ("--timeout 90", JobRequest(timeout_s=90.0)),
        ("--missed skip --overlap queue", JobRequest(missed="skip", overlap="queue")),
        ('--schedule "every day at 8" --prompt "say --hello"', None),
    ],
)
def test_options_are_read_as_in_a_terminal(text: str, wanted: JobRequest | None) -> None:
    words = read_words(text)
    assert words.rest == ""
    expected = wanted or JobRequest(schedule="every day at 8", prompt="say --hello")
    assert request_of(words) == expected


def test_text_in_quotation_marks_has_no_options() -> None:
    words = read_words('every day at 9 "show git log --oneline" --dry-run')
    assert words.rest == 'every day at 9 "show git log --oneline"'
    assert words.flags == {"dry-run"}


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("--oneline", "quote the task"),
        ("--name", "--name inbox"),
        ("--repeat often", "--repeat 5"),
        ("--missed never", "once, all or skip"),
        ("--timeout soon", "--timeout 10m"),
    ],
)
def test_a26_a_wrong_option_is_refused_with_an_example(text: str, fix: str) -> None:
    with pytest.raises(Rejected) as refused:
        request_of(read_words(text))
    assert fix in str(refused.value)


def test_a_quoted_schedule_ends_where_the_quotation_ends() -> None:
    assert quoted_first('"every 2h" look') == ("every 2h", "look")
    assert quoted_first("“every 2h” “look around”") == ("every 2h", "look around")
    assert quoted_first("every 2h look") is None
