"""hermes model providers: list the known providers."""

from hermes.app.models import Offer, offers
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.model.keys import key_name
from hermes.cli.options import json_option


def run(options: JsonOptions, context: CliContext) -> int:
    settings = context.settings()
    rows = [(each, key_name(settings, each)) for each in offers()]
    if options.json:
        context.console.document(
            [
                {
                    "name": each.name,
                    "title": each.title,
                    "base_url": each.base_url,
                    "keys": each.keys,
                    "needs_key": each.needs_key,
                    "key": key,
                    "docs": each.docs,
                }
                for each, key in rows
            ]
        )
        return DONE
    table = [(each.name, each.title, key or _need(each)) for each, key in rows]
    context.console.table(("PROVIDER", "WHO", "KEY"), table)
    return DONE


def _need(each: Offer) -> str:
    return f"none yet: {each.docs}" if each.needs_key else "none needed"


COMMAND = CliCommand(
    options=JsonOptions,
    run=run,
    arguments=json_option,
)
