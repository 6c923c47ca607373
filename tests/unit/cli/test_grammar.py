"""The words of the command line: all documented, all routed, all explained."""

import re
from importlib import import_module
from itertools import groupby
from pathlib import Path

import pytest

from hermes.cli import grammar, usage
from hermes.cli.command import Command
from hermes.cli.errors import Usage
from hermes.cli.sessions_grammar import LIST
from hermes.cli.talk_grammar import CHAT

DOCS = Path(__file__).parents[3] / "docs" / "COMMANDS.md"
ROW = re.compile(r"^\| `hermes ([a-z ]+)` \| ([^|]*?) ?\| (.+) \|$", re.M)
COMMANDS = tuple(grammar.commands())
LATER = ("cron", "mcp", "batch", "update")


def options(command: Command[object]) -> set[str]:
    found = {option for action in command.parser()._actions for option in action.option_strings}
    return found - {"-h", "--help"}


def test_each_command_and_each_option_is_documented_and_nothing_else() -> None:
    rows = {
        name: set(re.findall(r"`([^`]+)`", told))
        for name, told, _ in ROW.findall(DOCS.read_text("utf-8"))
    }
    assert rows == {command.name: options(command) for command in COMMANDS}


@pytest.mark.parametrize("first", grammar.FAMILIES)
def test_each_family_has_the_commands_that_begin_with_its_word_and_its_default(first: str) -> None:
    family = grammar.FAMILIES[first]
    members = [command.words for command in family.load()]
    assert len(set(members)) == len(members)
    if family.alone:
        assert {(words[0], len(words)) for words in members} == {(first, 2)}
        assert (first, family.alone) in members
    else:
        assert members == [(first,)]


def test_each_command_that_a_file_declares_is_in_a_family() -> None:
    declared = set()
    for file in Path(grammar.__file__).parent.glob("*_grammar.py"):
        for value in vars(import_module(f"hermes.cli.{file.stem}")).values():
            several = value if isinstance(value, tuple) else (value,)
            declared |= {each.words for each in several if isinstance(each, Command)}
    assert declared == {(), *(command.words for command in COMMANDS)}  # the window has no word


def test_headings_of_help_stand_together() -> None:
    headings = [heading for heading, _ in groupby(f.heading for f in grammar.FAMILIES.values())]
    assert len(set(headings)) == len(headings)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_command_can_load_what_does_its_work(command: Command[object]) -> None:
    assert callable(command._load())


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_command_explains_itself(command: Command[object]) -> None:
    text = command.parser().format_help()
    assert command.summary in text
    assert all(action.help for action in command.parser()._actions)


def test_help_shows_every_command_and_fits_a_terminal() -> None:
    text = usage.full()
    assert all(f"  {command.name} " in text for command in COMMANDS)
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
