"""Settings and environment to a provider that can be asked. The only file that knows them all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Misconfigured, ProviderGarbled
from hermes.egress.origin import BadURL, origin
from hermes.providers.catalogue import ENTRIES, Entry, canonical, closest
from hermes.providers.chain import Chain, Link
from hermes.providers.failures import Whom
from hermes.providers.local import CONTEXT_TOKENS, MODEL, Local, needed_weights
from hermes.providers.scripted import DEMO, Scripted, load_script
from hermes.providers.served import ANTHROPIC_MESSAGES, OPENAI_CHAT, Served
from hermes.providers.settings import ModelSettings
from hermes.providers.wire import Endpoint, Wire, is_loopback

ANTHROPIC_VERSION: Final = "2023-06-01"
MODELS_MAX: Final = 5_000
FALLBACKS_MAX: Final = 8
NO_MODEL: Final = (
    "Choose one with: hermes model; or take the small built-in one: hermes model --provider local"
)


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
    if len(settings.fallback) > FALLBACKS_MAX:
        raise Misconfigured(
            "model.fallbacks", f"more than {FALLBACKS_MAX} entries", "Name fewer models"
        )
    links = [_link(settings, env, "model")]
    for at, fallback in enumerate(settings.fallback):
        links.append(_link(fallback, env, f"model.fallbacks[{at}]"))
    return Chain(links, settings.patience)


async def list_models(settings: ModelSettings, env: Mapping[str, str]) -> tuple[ModelListing, ...]:
    """What the provider offers, by its own list; `settings.name` may be empty."""
    entry = _entry(settings, "model")
    if entry.protocol == "scripted":
        return (ModelListing(id="demo"),)
    if entry.protocol == "local":
        return (ModelListing(id=MODEL, context_length=CONTEXT_TOKENS),)
    wire = Wire(_endpoint(settings, entry, env, "model"))
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


def _link(settings: ModelSettings, env: Mapping[str, str], at: str) -> Link:
    entry = _entry(settings, at)
    if entry.protocol == "scripted":
        return _scripted(settings, at)
    if entry.protocol == "local":
        return Local(needed_weights(at), timeouts=settings.timeouts)
    if not settings.name.strip():
        raise Misconfigured(f"{at}.name", "no model is chosen", "Run: hermes model")
    quirks = entry.quirks_of(settings.name)
    quirks = replace(quirks, body={**quirks.body, **settings.body})
    wire = Wire(_endpoint(settings, entry, env, at))
    if entry.protocol == "anthropic":
        return Served(ANTHROPIC_MESSAGES, wire, settings.name, quirks)
    return Served(OPENAI_CHAT, wire, settings.name, quirks)


def _scripted(settings: ModelSettings, at: str) -> Scripted:
    if settings.name in ("", "demo"):
        return Scripted(DEMO.answer, name="scripted:demo")
    script = load_script(Path(settings.name), at=f"{at}.name")
    return Scripted(script.answer, name=f"scripted:{Path(settings.name).name}")


def _entry(settings: ModelSettings, at: str) -> Entry:
    name = canonical(settings.provider)
    if name is not None:
        return ENTRIES[name]
    key = f"{at}.provider"
    if not settings.provider.strip():
        raise Misconfigured(key, "no model is set up", NO_MODEL)
    near = closest(settings.provider)
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    raise Misconfigured(
        key,
        f"there is no provider “{settings.provider}”",
        f"{meant}Known ones: {', '.join(ENTRIES)}",
    )


def _endpoint(settings: ModelSettings, entry: Entry, env: Mapping[str, str], at: str) -> Endpoint:
    base_url = _base_url(settings, entry, at)
    key, source = _key(settings, entry, env, at)
    if not key and not entry.local and not is_loopback(base_url):
        raise Misconfigured(
            f"{at}.api_key",
            f"{entry.title} needs a key",
            f"Get one at {entry.docs} and set {entry.keys[0]} in .env",
        )
    headers = {
        "user-agent": "hermes",
        "content-type": "application/json",
        "accept-encoding": "identity",
    }
    if entry.protocol == "anthropic":
        headers["anthropic-version"] = ANTHROPIC_VERSION
        headers |= {"x-api-key": key} if key else {}
    elif key:
        headers["authorization"] = f"Bearer {key}"
    for name, value in {**entry.quirks.headers, **settings.headers}.items():
        if not (_is_plain(name) and _is_plain(value, spaces=True)):
            raise Misconfigured(
                f"{at}.headers", f"“{name}” is no HTTP header", "Use plain ASCII characters"
            )
        headers[name.lower()] = value
    name = f"{canonical(settings.provider)}:{settings.name}"
    hint = f"Check the key in {source}" if key else f"Set {_first(entry, at)} in .env"
    whom = Whom(name=name, url=base_url, key_hint=hint, secret=key)
    return Endpoint(whom=whom, base_url=base_url, headers=headers, timeouts=settings.timeouts)


def _base_url(settings: ModelSettings, entry: Entry, at: str) -> str:
    url = settings.base_url.strip() or entry.base_url
    if not url:
        raise Misconfigured(
            f"{at}.base_url", f"{entry.title} has no default URL", "Set the URL that ends in /v1"
        )
    for ending in ("/", "/chat/completions", "/messages", "/"):
        url = url.removesuffix(ending)
    if entry.protocol == "anthropic" and not url.endswith("/v1"):
        url += "/v1"
    try:
        origin(url)
    except BadURL as bad:
        shown = url.rpartition("@")[2]  # what stands before it may be a password
        raise Misconfigured(
            f"{at}.base_url", f"“{shown}” is no URL", "Write http://… or https://…"
        ) from bad
    return url


def _key(settings: ModelSettings, entry: Entry, env: Mapping[str, str], at: str) -> tuple[str, str]:
    """The key and the name of where it came from."""
    found = [(settings.api_key, f"{at}.api_key"), *((env.get(key, ""), key) for key in entry.keys)]
    for value, source in found:
        if key := value.strip():
            if not _is_plain(key):
                raise Misconfigured(
                    source, "the key contains spaces or special characters", "Copy it again"
                )
            return key, source
    return "", ""


def _first(entry: Entry, at: str) -> str:
    return entry.keys[0] if entry.keys else f"{at}.api_key"


def _is_plain(text: str, *, spaces: bool = False) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and (spaces or " " not in text)
