"""The words of `hermes gateway …` and `hermes send`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli.command import Command, Nothing, Shown
from hermes.cli.options import json_option
from hermes.cli.setup_grammar import Channels, channel_options

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Stop:
    force: bool


class Send(Shown):
    target: str
    text: list[str]
    file: list[str]


def _stop(parser: "ArgumentParser") -> None:
    more = "do not wait for running turns; after 10 s more it is killed"
    parser.add_argument("--force", action="store_true", help=more)


def _send(parser: "ArgumentParser") -> None:
    parser.add_argument("target", help="home, PLATFORM, PLATFORM:CHAT[:THREAD] or PLATFORM:NAME")
    parser.add_argument(
        "text", nargs="*", default=[], help="what to say; - or nothing reads standard input"
    )
    parser.add_argument("--file", action="append", default=[], help="a file to send along")
    json_option(parser)


RUN = Command(
    words=("gateway", "run"),
    summary="Run the gateway here, until Ctrl+C",
    given=Nothing,
    more="""SIGTERM lets running turns end and stops; SIGUSR1 does the same and starts anew;
SIGUSR2 writes what every task is doing into the log.""",
)
START = Command(
    words=("gateway", "start"),
    summary="Start the gateway in the background",
    given=Nothing,
)
STOP = Command(
    words=("gateway", "stop"),
    summary="Let running turns end, then stop the gateway",
    given=Stop,
    arguments=_stop,
)
RESTART = Command(
    words=("gateway", "restart"),
    summary="Let running turns end, then start the gateway anew",
    given=Nothing,
)
STATUS = Command(
    words=("gateway", "status"),
    summary="Show what the gateway is doing",
    given=Shown,
    arguments=json_option,
    more="The status is 0 when a gateway runs on this home, 1 when none does.",
)
SETUP = Command(
    words=("gateway", "setup"),
    summary="Set up channels, step by step",
    given=Channels,
    arguments=channel_options,
    more="Without options it asks. What is set already is the default.",
)
INSTALL = Command(
    words=("gateway", "install"),
    summary="Start the gateway with the machine (systemd or launchd)",
    given=Nothing,
)
UNINSTALL = Command(
    words=("gateway", "uninstall"),
    summary="Undo install",
    given=Nothing,
)
SEND = Command(
    words=("send",),
    summary="Send a message to a chat",
    given=Send,
    arguments=_send,
    more="""examples:
  hermes send home "The build is done"
  hermes send telegram:12345 "On my way"
  make 2>&1 | tail | hermes send home -""",
)
GATEWAY = (RUN, START, STOP, RESTART, STATUS, SETUP, INSTALL, UNINSTALL)
