"""hermes model list: list the models that a provider offers."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hermes.app.models import BUILTIN, listed, offer
from hermes.app.weights import offered_weights, weights_here
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.options import json_option
from hermes.settings import ModelSettings, Settings

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
            weights = settings.model.weights
            settings = replace(settings, model=ModelSettings(provider=found.name, weights=weights))
    mine = settings.model
    if mine.provider == BUILTIN:
        _list_builtin(options, context, settings)
        return DONE
    rows = asyncio.run(listed(settings))
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


def _list_builtin(options: ModelListOptions, context: CliContext, settings: Settings) -> None:
    """List the built-in models: what each costs, and which are here."""
    here = weights_here(settings)
    rows = offered_weights(settings)
    if options.json:
        models = [
            {
                "id": row.name,
                "context_length": row.context_tokens,
                "title": row.title,
                "bytes": row.bytes,
                "licence": row.licence,
                "tools": row.tools,
                "here": row.name in here,
            }
            for row in rows
        ]
        context.console.document({"provider": BUILTIN, "models": models})
        return
    table = [
        (row.name, f"{row.bytes / 1e6:,.0f} MB", row.licence, row.words, _where(row.name, here))
        for row in rows
    ]
    context.console.table(("MODEL", "SIZE", "LICENCE", "", ""), table)


def _where(name: str, here: Sequence[str]) -> str:
    return "is here" if name in here else ""


def _mark(name: str, mine: ModelSettings) -> str:
    return "answers now" if name == mine.name else ""


COMMAND = CliCommand(
    options=ModelListOptions,
    run=run,
    arguments=_arguments,
)
