"""The words of `hermes memory …`: what they take, and what --help says of them."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option, limit_option

if TYPE_CHECKING:
    from argparse import ArgumentParser

TARGETS = ("memory", "user", "person")


class Show(Shown):
    target: str | None


class Add:
    text: list[str]
    target: str


class Replace:
    entry: str
    text: list[str]


class Remove:
    entry: list[str]


class History(Shown):
    target: str | None
    limit: int


class Diff(Shown):
    version: int


class Undo:
    version: int | None


class Proposals(Shown):
    """Nothing more."""


class Decide:
    proposal: list[str]


class Approve(Decide):
    """A yes."""


class Reject(Decide):
    """A no."""


Given = Show | Add | Replace | Remove | History | Diff | Undo | Proposals | Approve | Reject


def _show(parser: "ArgumentParser") -> None:
    parser.add_argument("--target", choices=TARGETS, help="only this file")
    json_option(parser)


def _add(parser: "ArgumentParser") -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help="one fact, in a sentence or two")
    parser.add_argument("--target", choices=TARGETS, default="memory", help="default: memory")


def _replace(parser: "ArgumentParser") -> None:
    parser.add_argument("entry", metavar="ENTRY", help="its id, or words that are only in it")
    parser.add_argument("text", nargs="+", metavar="TEXT", help="what it says from now on")


def _remove(parser: "ArgumentParser") -> None:
    help_ = "its id, or words that are only in it"
    parser.add_argument("entry", nargs="+", metavar="ENTRY", help=help_)


def _history(parser: "ArgumentParser") -> None:
    parser.add_argument("--target", choices=TARGETS, help="only changes of this file")
    limit_option(parser, "versions")
    json_option(parser)


def _diff(parser: "ArgumentParser") -> None:
    help_ = "the number of a version (see: hermes memory history)"
    parser.add_argument("version", type=int, metavar="VERSION", help=help_)
    json_option(parser)


def _undo(parser: "ArgumentParser") -> None:
    help_ = "which one; default: the latest that has not been taken back"
    parser.add_argument("version", type=int, nargs="?", metavar="VERSION", help=help_)


def _decide(parser: "ArgumentParser") -> None:
    help_ = "its id (see: hermes memory proposals)"
    parser.add_argument("proposal", nargs="+", metavar="ID", help=help_)


SHOW = Command(
    words=("memory", "show"),
    summary="Print what is kept, and the files to edit",
    given=Show,
    load=loaders.memory,
    arguments=_show,
)
ADD = Command(
    words=("memory", "add"),
    summary="Keep a fact",
    given=Add,
    load=loaders.memory,
    arguments=_add,
    more="""examples:
  hermes memory add "The staging server is called omega."
  hermes memory add --target user "Prefers short answers."

You may as well edit the files themselves, at any time: see hermes memory show.""",
)
REPLACE = Command(
    words=("memory", "replace"),
    summary="Let an entry say something else",
    given=Replace,
    load=loaders.memory,
    arguments=_replace,
)
REMOVE = Command(
    words=("memory", "remove"),
    summary="Keep an entry no longer; undo brings it back",
    given=Remove,
    load=loaders.memory,
    arguments=_remove,
)
HISTORY = Command(
    words=("memory", "history"),
    summary="List every change, the latest first",
    given=History,
    load=loaders.memory,
    arguments=_history,
)
DIFF = Command(
    words=("memory", "diff"),
    summary="Show what a version changed",
    given=Diff,
    load=loaders.memory,
    arguments=_diff,
)
UNDO = Command(
    words=("memory", "undo"),
    summary="Take back the latest change, or a given one",
    given=Undo,
    load=loaders.memory,
    arguments=_undo,
    more="Once more, and it goes further back. An undo is a version, too: undo it by its number.",
)
PROPOSALS = Command(
    words=("memory", "proposals"),
    summary="List changes that wait for your word",
    given=Proposals,
    load=loaders.memory,
    arguments=json_option,
)
APPROVE = Command(
    words=("memory", "approve"),
    summary="Apply a proposal",
    given=Approve,
    load=loaders.memory,
    arguments=_decide,
)
REJECT = Command(
    words=("memory", "reject"),
    summary="Drop a proposal",
    given=Reject,
    load=loaders.memory,
    arguments=_decide,
)
MEMORY = (SHOW, ADD, REPLACE, REMOVE, HISTORY, DIFF, UNDO, PROPOSALS, APPROVE, REJECT)
