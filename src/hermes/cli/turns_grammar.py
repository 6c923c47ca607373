"""The words of `hermes turns …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option, limit_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Listing(Shown):
    limit: int
    session: str | None


class Named(Shown):
    name: str


def _list(parser: "ArgumentParser") -> None:
    parser.add_argument("--session", metavar="NAME", help="only those of this session")
    limit_option(parser, "turns")
    json_option(parser)


def _show(parser: "ArgumentParser") -> None:
    parser.add_argument("name", metavar="ID", help="a turn's id, or the beginning of one")
    json_option(parser)


LIST = Command(
    words=("turns", "list"),
    summary="List turns, the latest first",
    given=Listing,
    load=loaders.turns_list,
    arguments=_list,
)
SHOW = Command(
    words=("turns", "show"),
    summary="Show what a turn did, step by step",
    given=Named,
    load=loaders.turns_show,
    arguments=_show,
)
TURNS = (LIST, SHOW)
