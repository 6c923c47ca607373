"""hermes model list: list the models that a provider offers."""

import asyncio
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes.app.models import listed, offer
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.options import json_option
from hermes.settings import ModelSettings

if TYPE_CHECKING:
    from argparse import ArgumentParser


class ModelListOptions(JsonOptions):
    provider: str | None


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("--provider", metavar="NAME", help="a provider other than the current one")
    json_option(parser)


def run(options: ModelListOptions, context: CliContext) -> int:
    settings = context.settings()
    if options.provider is not None:
        found, near = offer(options.provider)
        if found is None:
            meant = f"Did you mean {' or '.join(near)}?" if near else "See: hermes model providers"
            raise UsageError(f"there is no provider “{options.provider}”. {meant}")
        if found.name != settings.model.provider:
            settings = replace(settings, model=ModelSettings(provider=found.name))
    rows = asyncio.run(listed(settings))
    mine = settings.model
    if options.json:
        models = [{"id": row.id, "context_length": row.context_length} for row in rows]
        context.console.document({"provider": mine.provider, "models": models})
        return DONE
    table = [
        (row.id, f"{row.context_length:,}" if row.context_length else "", _mark(row.id, mine))
        for row in rows
    ]
    context.console.table(("MODEL", "READS TOKENS", ""), table)
    return DONE


def _mark(name: str, mine: ModelSettings) -> str:
    return "answers now" if name == mine.name else ""


COMMAND = CliCommand(
    options=ModelListOptions,
    run=run,
    arguments=_arguments,
)
