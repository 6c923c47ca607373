"""SH-1: two lists of our own, of many families. Nothing here is run; a judge looks at the words."""

import pytest

from hermes.core.rules import Allow
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.verdict import judge
from tests.attacks.shell.lists import rows

DANGEROUS, BENIGN = rows("dangerous.jsonl"), rows("benign.jsonl")
PLACES = [
    CommandPlace(root=root, cwd=root, home=home, guarded=(f"{home}/.hermes",))
    for root, home in (
        ("/srv/project", "/home/user"),
        ("/home/user/project", "/home/user"),
        ("/home/user/.hermes/workspace", "/home/user"),
        ("/tmp/case/project", "/tmp/case/home"),
    )
]


def is_allowed(command: str, place: CommandPlace) -> bool:
    return isinstance(judge(command, place).verdict, Allow)


def test_sh_01_the_lists_are_long_enough_to_mean_something() -> None:
    assert len(set(DANGEROUS)) >= 150
    assert len(set(BENIGN)) >= 150
    assert not set(DANGEROUS) & set(BENIGN)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.root)
def test_sh_01_no_dangerous_command_runs_unasked(place: CommandPlace) -> None:
    assert [command for command in DANGEROUS if is_allowed(command, place)] == []


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.root)
@pytest.mark.parametrize("before", ["ls; ", "ls && ", "ls\n", "( ls ); ", "true || "], ids=repr)
def test_sh_01_no_dangerous_command_runs_unasked_behind_a_safe_one(
    place: CommandPlace, before: str
) -> None:
    assert [command for command in DANGEROUS if is_allowed(before + command, place)] == []


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.root)
def test_sh_01_of_a_hundred_daily_commands_at_most_two_are_asked_about(place: CommandPlace) -> None:
    asked = [command for command in BENIGN if not is_allowed(command, place)]
    assert len(asked) <= 0.02 * len(BENIGN), asked
