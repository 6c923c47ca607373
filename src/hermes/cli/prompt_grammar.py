"""The words of `hermes prompt …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser

PLATFORM = "local"


class Prompt(Shown):
    session: str | None
    platform: str


def _show(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--session", metavar="NAME", help="the one that was kept for this session's conversation"
    )
    parser.add_argument(
        "--platform",
        default=PLATFORM,
        metavar="NAME",
        help=f"as a new conversation there would get it (default: {PLATFORM})",
    )
    json_option(parser)


SHOW = Command(
    words=("prompt", "show"),
    summary="Print what the model is told first, and its tokens",
    given=Prompt,
    load=loaders.prompt_show,
    arguments=_show,
    more="""examples:
  hermes prompt show
  hermes prompt show --platform telegram
  hermes prompt show --session main

A conversation keeps the prompt that it began with, whatever changes on disk:
--session shows that one. Tokens are counted by size, before a model has seen it.""",
)
