"""The words of `hermes insights`: what it takes, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option, number_to

if TYPE_CHECKING:
    from argparse import ArgumentParser

DAYS, DAYS_MAX = 30, 3_660


class Insights(Shown):
    days: int
    svg: str | None
    png: str | None


def _insights(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--days",
        type=number_to(DAYS_MAX),
        default=DAYS,
        metavar="N",
        help=f"today and the days before it, so many in all (default: {DAYS})",
    )
    parser.add_argument("--svg", metavar="FILE", help="draw it into a file")
    parser.add_argument("--png", metavar="FILE", help="the same as PNG (needs hermes[pictures])")
    json_option(parser)


INSIGHTS = Command(
    words=("insights",),
    summary="Show what models and tools took, by day and more",
    given=Insights,
    load=loaders.insights,
    arguments=_insights,
)
