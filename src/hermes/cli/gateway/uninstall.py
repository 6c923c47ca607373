"""hermes gateway uninstall: remove the service."""

from hermes.cli.command import CliCommand, NoOptions
from hermes.cli.context import CliContext
from hermes.cli.gateway.service.installing import uninstall
from hermes.cli.gateway.service.service import ServiceContext


def run(_options: NoOptions, context: CliContext) -> int:
    return uninstall(ServiceContext(context=context))


COMMAND = CliCommand(
    options=NoOptions,
    run=run,
)
