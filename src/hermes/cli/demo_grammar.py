"""The words of `hermes demo …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Crash(Shown):
    svg: str | None


def _crash(parser: "ArgumentParser") -> None:
    parser.add_argument("--svg", metavar="FILE", help="draw the timeline into a file as well")
    json_option(parser)


CRASH = Command(
    words=("demo", "crash"),
    summary="Kill a gateway in mid-command and watch the turn finish",
    given=Crash,
    load=loaders.demo_crash,
    arguments=_crash,
    more="""examples:
  hermes demo crash
  hermes demo crash --svg crash.svg

A real gateway on a scratch home, with a model that answers by script: no key, no
network, and nothing of yours is read or written. It takes about ten seconds. The exit
status is 0 when the turn was finished as promised.""",
)
