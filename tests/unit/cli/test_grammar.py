"""The words of the command line: all documented, all routed, all explained."""

import re
from pathlib import Path

import pytest

from hermes.cli import grammar, usage
from hermes.cli.errors import Usage
from hermes.cli.main import _ROUTES
from hermes.cli.sessions_grammar import LIST
from hermes.cli.talk_grammar import CHAT

DOCS = Path(__file__).parents[3] / "docs" / "COMMANDS.md"
ROW = re.compile(r"^\| `hermes ([a-z ]+)` \| ([^|]*?) ?\| (.+) \|$", re.M)
LATER = ("cron", "mcp", "batch", "update")


def options(command: grammar.Command[object]) -> set[str]:
    found = {option for action in command.parser()._actions for option in action.option_strings}
    return found - {"-h", "--help"}


def test_each_command_and_each_option_is_documented_and_nothing_else() -> None:
    rows = {
        name: set(re.findall(r"`([^`]+)`", told))
        for name, told, _ in ROW.findall(DOCS.read_text("utf-8"))
    }
    assert rows == {command.name: options(command) for command in grammar.COMMANDS.values()}


def test_each_command_has_a_route_and_each_route_a_command() -> None:
    assert set(_ROUTES) == set(grammar.COMMANDS)


@pytest.mark.parametrize("command", grammar.COMMANDS.values(), ids=lambda command: command.name)
def test_each_command_explains_itself(command: grammar.Command[object]) -> None:
    text = command.parser().format_help()
    assert command.summary in text
    assert all(action.help for action in command.parser()._actions)


def test_help_shows_every_command_and_fits_a_terminal() -> None:
    text = usage.full()
    assert all(f"  {command.name} " in text for command in grammar.COMMANDS.values())
    assert max(len(line) for line in text.splitlines()) < 80
    assert not any(f"  {name} " in text for name in LATER)
    assert usage.short().count("\n") < 20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--zzz"], "unrecognized arguments: --zzz. See: hermes sessions list --help"),
        (["-n", "x"], "invalid number from 1 to 10000 value: 'x'"),
        (["-n", "0"], "invalid number from 1 to 10000 value: '0'"),
        (["--lim", "3"], "unrecognized arguments: --lim 3"),
    ],
)
def test_words_that_make_no_sense_are_one_sentence(words: list[str], said: str) -> None:
    with pytest.raises(Usage) as caught:
        LIST.parse(words)
    assert said in str(caught.value)


def test_what_is_given_is_typed_and_has_its_defaults() -> None:
    given = CHAT.parse(["-q", "hello", "--image", "a", "--image", "b"])
    assert (given.query, given.session, given.image, given.json) == (
        "hello",
        "main",
        ["a", "b"],
        False,
    )
    assert LIST.parse([]).limit == 20
