"""Build a provider from a plan. The only file that knows all of them.

Only the modules that a plan needs are loaded.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from hermes.core.errors import ProviderGarbled
from hermes.lazy import LazyModule
from hermes.providers.chain import ChainLink, ProviderChain
from hermes.providers.plan import RequestPlan, endpoint_of, entry_of, planned
from hermes.providers.served import Served, Speech
from hermes.providers.settings import ProviderSettings, RetryLimits
from hermes.providers.wire import Wire

if TYPE_CHECKING:
    from hermes.providers import anthropic, local, openai, scripted
    from hermes.providers.weights import catalogue as weights_catalogue
    from hermes.providers.weights import here
else:
    anthropic = LazyModule("hermes.providers.anthropic")
    local = LazyModule("hermes.providers.local")
    openai = LazyModule("hermes.providers.openai")
    scripted = LazyModule("hermes.providers.scripted")
    weights_catalogue = LazyModule("hermes.providers.weights.catalogue")
    here = LazyModule("hermes.providers.weights.here")

MODELS_MAX: Final = 5_000


class ModelListing(Struct, frozen=True, kw_only=True):
    """One model that a provider offers."""

    id: str
    context_length: int | None = None


class _Meta(Struct):
    n_ctx: int | None = None
    n_ctx_train: int | None = None


class _Model(Struct):
    id: str
    meta: _Meta | None = None  # of llama.cpp
    context_length: int | None = None
    context_window: int | None = None
    max_context_length: int | None = None
    max_model_len: int | None = None


class _Models(Struct):
    data: list[_Model]


def build(settings: ProviderSettings, env: Mapping[str, str]) -> ProviderChain:
    """Return the provider with its retries and fallbacks. Raise Misconfigured, naming key and
    fix."""
    return chain(planned(settings, env), settings.patience)


def chain(plans: Sequence[RequestPlan], patience: RetryLimits) -> ProviderChain:
    """Return the chain for these plans. Raise Misconfigured for a local model that is not
    installed."""
    return ProviderChain([_link(plan) for plan in plans], patience)


async def list_models(
    settings: ProviderSettings, env: Mapping[str, str]
) -> tuple[ModelListing, ...]:
    """Return the provider's own list of models; `settings.name` may be empty."""
    entry = entry_of(settings, "model")
    if entry.protocol == "scripted":
        return (ModelListing(id="demo"),)
    if entry.protocol == "local":
        known = weights_catalogue.known_weights(here.weights_folder(settings.weights, env).path)
        return tuple(
            ModelListing(id=each.name, context_length=each.context_tokens)
            for each in weights_catalogue.in_order(known.values())
        )
    wire = Wire(endpoint_of(settings, entry, env, "model"))
    paged = entry.protocol == "anthropic"  # that one gives twenty unless it is asked for more
    try:
        body = await wire.fetch("/models?limit=1000" if paged else "/models")
    finally:
        await wire.aclose()
    try:
        return _listed(body)
    except (ValueError, RecursionError) as broken:
        raise ProviderGarbled(f"{entry.title} sent an invalid list of models.") from broken


def listed_window(body: bytes, name: str) -> int:
    """Return the context window of one model in a server's list; 0 if it is not told. Raise
    ValueError for what is no list."""
    models = _listed(body)
    found = [model for model in models if model.id == name] or (models if len(models) == 1 else ())
    return (found[0].context_length or 0) if found else 0


def _listed(body: bytes) -> tuple[ModelListing, ...]:
    found = msgspec.json.decode(body, type=_Models | list[_Model])
    models = found.data if isinstance(found, _Models) else found
    return tuple(
        ModelListing(id=model.id.removeprefix("models/"), context_length=_window(model))
        for model in models[:MODELS_MAX]
    )


def _window(model: _Model) -> int | None:
    """What the server runs it with, before what it was made for."""
    meta = model.meta or _Meta()
    return (
        meta.n_ctx
        or model.context_length
        or model.context_window
        or model.max_context_length
        or model.max_model_len
        or meta.n_ctx_train
    )


def _link(plan: RequestPlan) -> ChainLink:
    settings = plan.settings
    if plan.weights is not None:
        model = here.local_model(plan.weights, settings.name, plan.at)
        return local.Local(model, timeouts=settings.timeouts, quirks=plan.quirks)
    if plan.endpoint is None:
        return _scripted(settings, plan.at)
    return Served(_speech(plan.entry.protocol), Wire(plan.endpoint), settings.name, plan.quirks)


def _speech(protocol: str) -> Speech:
    if protocol == "anthropic":
        return anthropic.ANTHROPIC_MESSAGES
    return openai.OPENAI_CHAT


def _scripted(settings: ProviderSettings, at: str) -> ChainLink:
    if settings.name in ("", "demo"):
        return scripted.Scripted(scripted.DEMO.answer, name="scripted:demo")
    script = scripted.load_script(Path(settings.name), at=f"{at}.name")
    return scripted.Scripted(script.answer, name=f"scripted:{Path(settings.name).name}")
