"""A plan to a provider that can be asked. The only file that knows them all.

What a plan does not need is not loaded.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hermes.core.errors import ProviderGarbled
from hermes.providers.chain import Chain, Link
from hermes.providers.plan import Plan, endpoint_of, entry_of, planned
from hermes.providers.served import Served, Speech
from hermes.providers.settings import ModelSettings, Patience
from hermes.providers.wire import Wire

MODELS_MAX: Final = 5_000


class ModelListing(Struct, frozen=True, kw_only=True):
    """One model that a provider offers."""

    id: str
    context_length: int | None = None


class _Model(Struct):
    id: str
    context_length: int | None = None
    context_window: int | None = None
    max_context_length: int | None = None
    max_model_len: int | None = None


class _Models(Struct):
    data: list[_Model]


def build(settings: ModelSettings, env: Mapping[str, str]) -> Chain:
    """The provider with its retries and fallbacks. Raises Misconfigured, naming key and fix."""
    return chain(planned(settings, env), settings.patience)


def chain(plans: Sequence[Plan], patience: Patience) -> Chain:
    """Raises Misconfigured for a model of this machine that is not there."""
    return Chain([_link(plan) for plan in plans], patience)


async def list_models(settings: ModelSettings, env: Mapping[str, str]) -> tuple[ModelListing, ...]:
    """What the provider offers, by its own list; `settings.name` may be empty."""
    entry = entry_of(settings, "model")
    if entry.protocol == "scripted":
        return (ModelListing(id="demo"),)
    if entry.protocol == "local":
        from hermes.providers.local import CONTEXT_TOKENS, MODEL

        return (ModelListing(id=MODEL, context_length=CONTEXT_TOKENS),)
    wire = Wire(endpoint_of(settings, entry, env, "model"))
    paged = entry.protocol == "anthropic"  # that one gives twenty unless it is asked for more
    try:
        body = await wire.fetch("/models?limit=1000" if paged else "/models")
    finally:
        await wire.aclose()
    try:
        found = msgspec.json.decode(body, type=_Models | list[_Model])
    except (ValueError, RecursionError) as broken:
        raise ProviderGarbled(f"{entry.title} sent a list of models that is none.") from broken
    models = found.data if isinstance(found, _Models) else found
    return tuple(
        ModelListing(
            id=model.id.removeprefix("models/"),
            context_length=model.context_length
            or model.context_window
            or model.max_context_length
            or model.max_model_len,
        )
        for model in models[:MODELS_MAX]
    )


def _link(plan: Plan) -> Link:
    settings = plan.settings
    if plan.endpoint is None and plan.entry.protocol == "local":
        return _local(settings, plan.at)
    if plan.endpoint is None:
        return _scripted(settings, plan.at)
    return Served(_speech(plan.entry.protocol), Wire(plan.endpoint), settings.name, plan.quirks)


def _speech(protocol: str) -> Speech:
    if protocol == "anthropic":
        from hermes.providers.anthropic import ANTHROPIC_MESSAGES

        return ANTHROPIC_MESSAGES
    from hermes.providers.openai import OPENAI_CHAT

    return OPENAI_CHAT


def _local(settings: ModelSettings, at: str) -> Link:
    from hermes.providers.local import Local, needed_weights

    return Local(needed_weights(at), timeouts=settings.timeouts)


def _scripted(settings: ModelSettings, at: str) -> Link:
    from hermes.providers.scripted import DEMO, Scripted, load_script

    if settings.name in ("", "demo"):
        return Scripted(DEMO.answer, name="scripted:demo")
    script = load_script(Path(settings.name), at=f"{at}.name")
    return Scripted(script.answer, name=f"scripted:{Path(settings.name).name}")
