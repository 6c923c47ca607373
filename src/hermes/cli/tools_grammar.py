"""The words of `hermes tools …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class List(Shown):
    platform: str


class Switch:
    names: list[str]
    platform: str | None


def _list(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--platform", default="local", metavar="NAME", help="as it is there (default: local)"
    )
    json_option(parser)


def _switch(parser: "ArgumentParser") -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="a toolset or a single tool")
    parser.add_argument("--platform", metavar="NAME", help="only there; otherwise everywhere")


LIST = Command(
    words=("tools", "list"),
    summary="List toolsets and what each costs in tokens",
    given=List,
    load=loaders.tools_list,
    arguments=_list,
)
ENABLE = Command(
    words=("tools", "enable"),
    summary="Offer tools to the model again",
    given=Switch,
    load=loaders.tools_enable,
    arguments=_switch,
)
DISABLE = Command(
    words=("tools", "disable"),
    summary="Do not offer tools to the model, here or on one platform",
    given=Switch,
    load=loaders.tools_disable,
    arguments=_switch,
    more="""examples:
  hermes tools disable terminal --platform telegram
  hermes tools disable web todo

Conversations that have begun keep what they were told first; the tools of their
next request are the new ones.""",
)
TOOLS = (LIST, ENABLE, DISABLE)
