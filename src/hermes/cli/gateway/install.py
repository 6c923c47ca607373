"""hermes gateway install: start the gateway with the machine (systemd or launchd)."""

from hermes.cli.command import CliCommand, NoOptions
from hermes.cli.context import CliContext
from hermes.cli.gateway.service.installing import install
from hermes.cli.gateway.service.probe import standing


def run(_options: NoOptions, context: CliContext) -> int:
    return install(standing(context))


COMMAND = CliCommand(
    options=NoOptions,
    run=run,
)
