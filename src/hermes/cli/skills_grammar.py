"""The words of `hermes skills …`: what they take, and what --help says."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Given(Shown):
    """What any of them may be given; `word` says which of them it is."""

    word: str
    name: str = ""
    file: str = ""
    source: str = ""
    skill: str = ""
    description: str = ""
    sha256: str = ""
    yes: bool = False
    json: bool = False


def _name(parser: "ArgumentParser") -> None:
    parser.add_argument("name", help="the name of a skill")


def _view(parser: "ArgumentParser") -> None:
    _name(parser)
    parser.add_argument("file", nargs="?", default="", help="one of its files")
    json_option(parser)


def _consent(parser: "ArgumentParser") -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="without a question; see --sha256")
    parser.add_argument("--sha256", default="", help="the digest that you have looked at")
    json_option(parser)


def _install(parser: "ArgumentParser") -> None:
    parser.add_argument("source", help="a folder, an archive or a git address (#BRANCH)")
    parser.add_argument("--skill", default="", help="which one, when there are several in it")
    _consent(parser)


def _update(parser: "ArgumentParser") -> None:
    _name(parser)
    _consent(parser)


def _create(parser: "ArgumentParser") -> None:
    _name(parser)
    parser.add_argument("--description", default="", help="what it is for, and when to use it")


def _named(parser: "ArgumentParser") -> None:
    parser.add_argument("name", help="a proposal's id, or the name of a skill")
    json_option(parser)


def _decided(parser: "ArgumentParser") -> None:
    parser.add_argument("name", help="a proposal's id, or the name of its skill")


def _command(
    word: str, summary: str, arguments: Callable[["ArgumentParser"], object], more: str = ""
) -> Command[Given]:
    def declared(parser: "ArgumentParser") -> None:
        parser.set_defaults(word=word)
        arguments(parser)

    return Command(
        words=("skills", word),
        summary=summary,
        given=Given,
        load=loaders.skills,
        arguments=declared,
        more=more,
    )


INSTALLING = """examples:
  hermes skills install ./my-skill
  hermes skills install skills.tar.gz --skill pdf-forms
  hermes skills install https://example.com/skills.git#main --skill pdf-forms

It is fetched into quarantine, scanned and shown. Nothing of it is used before
you say yes to the digest of exactly these bytes."""

SKILLS = (
    _command("list", "List all skills", json_option),
    _command("view", "Print a skill, or one of its files", _view),
    _command("create", "Begin a skill of your own", _create),
    _command("install", "Look at somebody else's skill, then use it", _install, INSTALLING),
    _command("update", "Fetch an installed skill anew and show what changed", _update),
    _command("remove", "Remove an installed skill, or one of the agent's", _name),
    _command("enable", "Use a disabled skill again", _name),
    _command("disable", "Do not use a skill any more", _name),
    _command("proposals", "List what the agent would like to keep", json_option),
    _command("diff", "Show a proposal, or the last change of a skill", _named),
    _command("approve", "Put a proposal in force", _decided),
    _command("reject", "Say no to a proposal", _decided),
    _command("undo", "Take the last change of a skill back", _name),
    _command(
        "audit",
        "Check every digest and scan all skills again",
        json_option,
        "The status is 1 when a skill was changed after it was approved.",
    ),
)
