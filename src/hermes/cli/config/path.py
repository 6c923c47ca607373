"""hermes config path: print where config.yaml is."""

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.options import json_option
from hermes.settings.home import CONFIG, DATABASE, SECRETS


def run(options: JsonOptions, context: CliContext) -> int:
    home = context.home
    if options.json:
        names = {"config": CONFIG, "secrets": SECRETS, "database": DATABASE}
        paths = {name: str(home / file) for name, file in names.items()}
        context.console.document({"home": str(home), **paths})
    else:
        context.console.say(str(home / CONFIG))
    return DONE


COMMAND = CliCommand(
    options=JsonOptions,
    run=run,
    arguments=json_option,
)
