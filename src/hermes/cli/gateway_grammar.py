"""The words of `hermes gateway …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.channels_grammar import Channels, channel_options
from hermes.cli.command import Command, Nothing, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Stop:
    force: bool


def _stop(parser: "ArgumentParser") -> None:
    more = "do not wait for running turns; after 10 s more it is killed"
    parser.add_argument("--force", action="store_true", help=more)


RUN = Command(
    words=("gateway", "run"),
    summary="Run the gateway here, until Ctrl+C",
    given=Nothing,
    load=loaders.gateway_run,
    more="""SIGTERM lets running turns end and stops; SIGUSR1 does the same and starts anew;
SIGUSR2 writes what every task is doing into the log.""",
)
START = Command(
    words=("gateway", "start"),
    summary="Start the gateway in the background",
    given=Nothing,
    load=loaders.gateway_start,
)
STOP = Command(
    words=("gateway", "stop"),
    summary="Let running turns end, then stop the gateway",
    given=Stop,
    load=loaders.gateway_stop,
    arguments=_stop,
)
RESTART = Command(
    words=("gateway", "restart"),
    summary="Let running turns end, then start the gateway anew",
    given=Nothing,
    load=loaders.gateway_restart,
)
STATUS = Command(
    words=("gateway", "status"),
    summary="Show what the gateway is doing",
    given=Shown,
    load=loaders.gateway_status,
    arguments=json_option,
    more="The status is 0 when a gateway runs on this home, 1 when none does.",
)
SETUP = Command(
    words=("gateway", "setup"),
    summary="Set up channels, step by step",
    given=Channels,
    load=loaders.gateway_setup,
    arguments=channel_options,
    more="Without options it asks. What is set already is the default.",
)
INSTALL = Command(
    words=("gateway", "install"),
    summary="Start the gateway with the machine (systemd or launchd)",
    given=Nothing,
    load=loaders.gateway_install,
)
UNINSTALL = Command(
    words=("gateway", "uninstall"),
    summary="Undo install",
    given=Nothing,
    load=loaders.gateway_uninstall,
)
GATEWAY = (RUN, START, STOP, RESTART, STATUS, SETUP, INSTALL, UNINSTALL)
