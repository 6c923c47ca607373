"""hermes model list: list the models that a provider offers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.errors import DONE, UsageError
from hermes.cli.options import json_option
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import asyncio
    from argparse import ArgumentParser

    from msgspec import structs

    from hermes.app import models, weights
    from hermes.cli.context import CliContext
    from hermes.settings import ModelSettings, Settings, shape
else:
    asyncio = LazyModule("asyncio")
    structs = LazyModule("msgspec.structs")
    models = LazyModule("hermes.app.models")
    weights = LazyModule("hermes.app.weights")
    shape = LazyModule("hermes.settings.shape")


class ModelListOptions(JsonOptions):
    provider: str | None


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("--provider", metavar="NAME", help="a provider other than the current one")
    json_option(parser)


def run(options: ModelListOptions, context: "CliContext") -> int:
    settings = context.settings()
    if options.provider is not None:
        found, near = models.offer(options.provider)
        if found is None:
            meant = f"Did you mean {' or '.join(near)}?" if near else "See: hermes model providers"
            raise UsageError(f"there is no provider “{options.provider}”. {meant}")
        if found.name != settings.model.provider:
            folder = settings.model.weights
            settings = structs.replace(
                settings, model=shape.ModelSettings(provider=found.name, weights=folder)
            )
    mine = settings.model
    if mine.provider == models.BUILTIN:
        _list_builtin(options, context, settings)
        return DONE
    rows = asyncio.run(models.listed(settings))
    if options.json:
        rows_shown = [{"id": row.id, "context_length": row.context_length} for row in rows]
        context.console.document({"provider": mine.provider, "models": rows_shown})
        return DONE
    table = [
        (row.id, f"{row.context_length:,}" if row.context_length else "", _mark(row.id, mine))
        for row in rows
    ]
    context.console.table(("MODEL", "READS TOKENS", ""), table)
    return DONE


def _list_builtin(options: ModelListOptions, context: "CliContext", settings: "Settings") -> None:
    """List the built-in models: what each costs, and which are here."""
    here = weights.weights_here(settings)
    rows = weights.offered_weights(settings)
    if options.json:
        rows_shown = [
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
        context.console.document({"provider": models.BUILTIN, "models": rows_shown})
        return
    table = [
        (row.name, f"{row.bytes / 1e6:,.0f} MB", row.licence, row.words, _where(row.name, here))
        for row in rows
    ]
    context.console.table(("MODEL", "SIZE", "LICENCE", "", ""), table)


def _where(name: str, here: Sequence[str]) -> str:
    return "is here" if name in here else ""


def _mark(name: str, mine: "ModelSettings") -> str:
    return "answers now" if name == mine.name else ""


COMMAND = CliCommand(
    options=ModelListOptions,
    run=run,
    arguments=_arguments,
)
