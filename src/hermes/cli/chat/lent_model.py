"""Lend a model to a chat when none is set up: what the person has already, or the built-in one.

It is separate from the first-minute questions, so that a chat with a model loads none of this.
Nothing is saved: the same is found again the next time, and `hermes model` keeps it.
"""

import asyncio

from msgspec.structs import replace

from hermes.app.found_models import FoundModel, found_keys, found_servers, model_names
from hermes.app.models import TRY_QUESTION, TRY_S, tried
from hermes.cli.context import CliContext
from hermes.cli.gateway.service.lock import running
from hermes.cli.model import builtin
from hermes.core.errors import Misconfigured, ProviderFailed
from hermes.installed import started_by_launcher
from hermes.settings import ModelSettings, Settings, survey

PROVIDER, NAME, URL = (f"HERMES_MODEL__{each}" for each in ("PROVIDER", "NAME", "BASE_URL"))
FETCHING = (
    "No model is set up yet. Getting the built-in one first ({size} to download, only this "
    "once): {title}, licence {licence}."
)
ASIDE = "No model is set up: {who} answers. {instead}: hermes model"
BUILTIN = "the built-in {title} ({words})"
ANOTHER, REAL = "To keep it or choose another one", "A real one"
UNFIT = "{who} cannot be used: {why}"


def with_lent_model(context: CliContext) -> CliContext:
    """Return the context with a model chosen, and say which. A running gateway has a model of its
    own. Raise Misconfigured when the built-in model cannot be installed."""
    settings, problems = survey(context.home, context.environ)
    if problems or settings.model.provider or running(context.home) is not None:
        return context
    lent = asyncio.run(_found(context, settings)) or _builtin(context, settings)
    if lent is None:
        return context
    variables = {PROVIDER: lent.provider, NAME: lent.name, URL: lent.base_url}
    chosen = {name: value for name, value in variables.items() if value}
    return replace(context, environ={**context.environ, **chosen})


async def _found(context: CliContext, settings: Settings) -> ModelSettings | None:
    """Return the first thing that the person has and that answers."""
    for found in (*found_keys(settings), *await found_servers(settings)):
        who = f"{found.title} ({found.key or found.base_url})"
        names = await model_names(settings, found)
        if not names:
            context.console.tell(UNFIT.format(who=who, why="it does not list its models"))
            continue
        model = ModelSettings(provider=found.provider, name=names[0], base_url=found.base_url)
        if why := await _try(replace(settings, model=model)):
            context.console.tell(UNFIT.format(who=who, why=why))
            continue
        context.console.tell(ASIDE.format(who=_named(found, names[0]), instead=ANOTHER))
        return model
    return None


async def _try(settings: Settings) -> str:
    """Ask a model one thing. Return why it cannot be used, or ""."""
    try:
        async with asyncio.timeout(TRY_S):
            await tried(settings, TRY_QUESTION)
    except TimeoutError:
        return f"there was no answer within {TRY_S:.0f} seconds"
    except (ProviderFailed, Misconfigured) as failed:
        return str(failed)
    return ""


def _named(found: FoundModel, name: str) -> str:
    where = f"with your key in {found.key}" if found.key else "on this computer"
    return f"{name} of {found.title}, {where},"


def _builtin(context: CliContext, settings: Settings) -> ModelSettings | None:
    """Return the built-in model, with what it needs. Only a clone's launcher installs without
    asking, because it owns its environment."""
    weights = builtin.unasked(settings)
    if size := builtin.download_bytes(settings, weights):
        if not started_by_launcher():
            return None
        terms = FETCHING.format(
            size=builtin.megabytes(size), title=weights.title, licence=weights.licence
        )
        context.console.tell(terms)
        builtin.prepare(context, weights)
    who = BUILTIN.format(title=weights.title, words=weights.words)
    context.console.tell(ASIDE.format(who=who, instead=REAL))
    return ModelSettings(provider=builtin.NAME, name=weights.name)
