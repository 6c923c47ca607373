"""hermes model list, show, providers: who there is and who answers. Nothing is changed."""

import asyncio

from msgspec.structs import replace

from hermes.cli.command import Shown
from hermes.cli.errors import DONE, FAILED, Usage
from hermes.cli.model_grammar import List
from hermes.cli.model_kept import OWN_KEY
from hermes.cli.place import Place
from hermes.models import Offer, has_builtin, listed, offer, offers
from hermes.settings import Model, Settings

NOBODY = (
    "No model is set up. Choose one: hermes model; "
    "or take the small built-in one: hermes model --provider local"
)


def run_list(given: List, place: Place) -> int:
    settings = place.settings()
    if given.provider is not None:
        found, near = offer(given.provider)
        if found is None:
            meant = f"Did you mean {' or '.join(near)}?" if near else "See: hermes model providers"
            raise Usage(f"there is no provider “{given.provider}”. {meant}")
        if found.name != settings.model.provider:
            settings = replace(settings, model=Model(provider=found.name))
    rows = asyncio.run(listed(settings))
    mine = settings.model
    if given.json:
        models = [{"id": row.id, "context_length": row.context_length} for row in rows]
        place.console.document({"provider": mine.provider, "models": models})
        return DONE
    table = [
        (row.id, f"{row.context_length:,}" if row.context_length else "", _mark(row.id, mine))
        for row in rows
    ]
    place.console.table(("MODEL", "READS TOKENS", ""), table)
    return DONE


def run_show(given: Shown, place: Place) -> int:
    settings = place.settings()
    model = settings.model
    found, _near = offer(model.provider)
    if not model.provider or found is None:
        if given.json:
            place.console.document({"provider": None, "builtin_installed": has_builtin()})
        place.console.tell(NOBODY)
        return FAILED
    shown = {
        "provider": found.name,
        "title": found.title,
        "model": model.name,
        "base_url": model.base_url or found.base_url,
        "key": _key(settings, found),
        "context_length": model.context_length,
        "fallbacks": [f"{each.provider}:{each.name}" for each in model.fallbacks],
        "small_model": settings.agent.small_model,
    }
    if given.json:
        place.console.document({**shown, "builtin_installed": has_builtin()})
        return DONE
    for name, value in shown.items():
        text = ", ".join(value) if isinstance(value, list) else str(value or "")
        if text:
            place.console.say(f"{name.replace('_', ' '):<15} {text}")
    place.console.tell("Another one: hermes model")
    return DONE


def run_providers(given: Shown, place: Place) -> int:
    settings = place.settings()
    rows = [(each, _key(settings, each)) for each in offers()]
    if given.json:
        place.console.document(
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
    place.console.table(("PROVIDER", "WHO", "KEY"), table)
    return DONE


def _key(settings: Settings, found: Offer) -> str:
    """Where its key is, never the key."""
    if settings.model.api_key and settings.model.provider == found.name:
        return OWN_KEY if OWN_KEY in settings.secrets else "model.api_key"
    return next((name for name in found.keys if settings.secrets.get(name)), "")


def _need(each: Offer) -> str:
    return f"none yet: {each.docs}" if each.needs_key else "none needed"


def _mark(name: str, mine: Model) -> str:
    return "answers now" if name == mine.name else ""
