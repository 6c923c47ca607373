"""The words of `hermes sessions …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option, limit_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Listing(Shown):
    limit: int


class Named(Shown):
    name: str


class Transcript(Named):
    full: bool


class Search(Listing):
    words: list[str]


class Export:
    name: str
    format: str
    events: bool
    output: str | None


class Delete:
    name: str
    yes: bool


def _list(parser: "ArgumentParser") -> None:
    limit_option(parser, "sessions")
    json_option(parser)


def _search(parser: "ArgumentParser") -> None:
    parser.add_argument("words", nargs="+", metavar="WORD", help="all of them must occur")
    limit_option(parser, "places")
    json_option(parser)


def _name(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "name", metavar="NAME", help="name, key or id of a session (see: hermes sessions list)"
    )


def _show(parser: "ArgumentParser") -> None:
    _name(parser)
    parser.add_argument("--full", action="store_true", help="results of tools in full")
    json_option(parser)


def _export(parser: "ArgumentParser") -> None:
    _name(parser)
    parser.add_argument(
        "--format",
        choices=("markdown", "json", "jsonl"),
        default="markdown",
        help="markdown to read, json or jsonl to work with (default: markdown)",
    )
    parser.add_argument(
        "--events", action="store_true", help="the journal itself instead of messages (jsonl, json)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="into a file that only you can read")


def _suspend(parser: "ArgumentParser") -> None:
    _name(parser)
    json_option(parser)


def _delete(parser: "ArgumentParser") -> None:
    _name(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask first")


LIST = Command(
    words=("sessions", "list"),
    summary="List conversations, the latest first",
    given=Listing,
    load=loaders.sessions_list,
    arguments=_list,
)
SHOW = Command(
    words=("sessions", "show"),
    summary="Print a conversation",
    given=Transcript,
    load=loaders.sessions_show,
    arguments=_show,
)
SEARCH = Command(
    words=("sessions", "search"),
    summary="Find words in all conversations",
    given=Search,
    load=loaders.sessions_search,
    arguments=_search,
)
EXPORT = Command(
    words=("sessions", "export"),
    summary="Write a conversation as Markdown or JSON",
    given=Export,
    load=loaders.sessions_export,
    arguments=_export,
)
SUSPEND = Command(
    words=("sessions", "suspend"),
    summary="Park a conversation; the next message begins a new one",
    given=Named,
    load=loaders.sessions_suspend,
    arguments=_suspend,
)
DELETE = Command(
    words=("sessions", "delete"),
    summary="Remove a session and all that belongs to it, for good",
    given=Delete,
    load=loaders.sessions_delete,
    arguments=_delete,
)
SESSIONS = (LIST, SHOW, SEARCH, EXPORT, SUSPEND, DELETE)
