"""The words of the command line: all documented, all routed, all explained."""

import re
from importlib import import_module
from itertools import groupby
from pathlib import Path

import pytest

from hermes.cli import help_text, registry
from hermes.cli.chat.chat import COMMAND as CHAT
from hermes.cli.command import CliCommand, CommandEntry
from hermes.cli.errors import UsageError
from hermes.cli.sessions.list import COMMAND as LIST

DOCS = Path(__file__).parents[3] / "docs" / "COMMANDS.md"
ROW = re.compile(r"^\| `hermes ([a-z ]+)` \| ([^|]*?) ?\| (.+) \|$", re.M)
COMMANDS = tuple(registry.commands())
LATER = ("mcp", "batch", "update")


def options(command: CommandEntry) -> set[str]:
    found = {option for action in command.parser()._actions for option in action.option_strings}
    return found - {"-h", "--help"}


def test_each_command_and_each_option_is_documented_and_nothing_else() -> None:
    rows = {
        name: set(re.findall(r"`([^`]+)`", told))
        for name, told, _ in ROW.findall(DOCS.read_text("utf-8"))
    }
    assert rows == {command.name: options(command) for command in COMMANDS}


@pytest.mark.parametrize("first", registry.FAMILIES)
def test_each_family_has_the_commands_that_begin_with_its_word_and_its_default(first: str) -> None:
    family = registry.FAMILIES[first]
    members = [command.words for command in family.entries]
    assert len(set(members)) == len(members)
    if family.alone:
        assert {(words[0], len(words)) for words in members} == {(first, 2)}
        assert (first, family.alone) in members
    else:
        assert members == [(first,)]


def test_each_command_that_a_file_declares_is_in_a_family() -> None:
    package = Path(registry.__file__).parent
    declared = {
        ".".join(("hermes.cli", *file.relative_to(package).with_suffix("").parts))
        for file in package.rglob("*.py")
        if re.search(r"\nCOMMAND = (CliCommand|one_job)\(", file.read_text("utf-8"))
    }
    assert declared == {entry.module for entry in (registry.WINDOW, *COMMANDS)}


def test_headings_of_help_stand_together() -> None:
    headings = [heading for heading, _ in groupby(f.heading for f in registry.FAMILIES.values())]
    assert len(set(headings)) == len(headings)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_command_can_load_what_does_its_work(command: CommandEntry) -> None:
    module = import_module(command.module)
    assert isinstance(module.COMMAND, CliCommand)
    assert command.command is module.COMMAND


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_command_explains_itself(command: CommandEntry) -> None:
    text = command.parser().format_help()
    assert command.summary in text
    assert all(action.help for action in command.parser()._actions)


def test_each_command_that_lists_or_shows_can_print_one_document() -> None:
    looking = [c for c in COMMANDS if c.summary.split()[0] in ("List", "Show", "Print", "Find")]
    assert [c.name for c in looking if "--json" not in options(c)] == ["completion"]


def test_help_shows_every_command_and_fits_a_terminal() -> None:
    text = help_text.full()
    assert all(f"  {command.name} " in text for command in COMMANDS)
    assert max(len(line) for line in text.splitlines()) < 80
    assert not any(f"  {name} " in text for name in LATER)
    assert help_text.short().count("\n") < 20


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
    with pytest.raises(UsageError) as caught:
        LIST.parse(words, "sessions list")
    assert said in str(caught.value)


def test_what_is_given_is_typed_and_has_its_defaults() -> None:
    given = CHAT.parse(["-q", "hello", "--image", "a", "--image", "b"])
    assert (given.query, given.session, given.image, given.json) == (
        "hello",
        None,
        ["a", "b"],
        False,
    )
    assert LIST.parse([]).limit == 20
