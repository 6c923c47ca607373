"""The words of `hermes doctor`: what it takes, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Doctor(Shown):
    no_calls: bool


def _doctor(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--no-calls", action="store_true", help="ask nobody: neither the model nor any platform"
    )
    json_option(parser)


DOCTOR = Command(
    words=("doctor",),
    summary="Check the installation and say how to fix what is wrong",
    given=Doctor,
    load=loaders.doctor,
    arguments=_doctor,
    more="The model is asked one tiny question and each platform who it is, unless --no-calls.",
)
