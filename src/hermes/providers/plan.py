"""Turn settings and environment into a plan of models to ask; all errors are found here. Pure.

`build` makes a provider of it and loads the module of its protocol.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Misconfigured
from hermes.lazy import LazyModule
from hermes.providers.catalogue import ENTRIES, CatalogueEntry, canonical, closest
from hermes.providers.endpoint import Endpoint, EndpointLabel
from hermes.providers.pieces import CallForm, Quirks
from hermes.providers.profile import is_small
from hermes.providers.settings import ProviderSettings
from hermes.wire.origin import BadURL, origin
from hermes.wire.route import is_loopback

if TYPE_CHECKING:
    from hermes.providers.weights import here
    from hermes.providers.weights.folder import WeightsFolder
else:
    here = LazyModule("hermes.providers.weights.here")

ANTHROPIC_VERSION: Final = "2023-06-01"
FALLBACKS_MAX: Final = 8
NO_MODEL: Final = (
    "Choose one with: hermes model; or use the small built-in one: hermes model --provider local"
)


class RequestPlan(Struct, frozen=True, kw_only=True):
    """One model to ask. Without an endpoint it runs on this machine, and `build` checks whether it
    is installed."""

    at: str  # the setting that names it
    settings: ProviderSettings
    entry: CatalogueEntry
    quirks: Quirks = Quirks()
    endpoint: Endpoint | None = None
    weights: "WeightsFolder | None" = None  # of a built-in model


def planned(settings: ProviderSettings, env: Mapping[str, str]) -> tuple[RequestPlan, ...]:
    """Return the model and its fallbacks. Raise Misconfigured, naming key and fix."""
    if len(settings.fallback) > FALLBACKS_MAX:
        raise Misconfigured(
            "model.fallbacks", f"more than {FALLBACKS_MAX} entries", "Name fewer models"
        )
    plans = [_plan(settings, env, "model")]
    for at, fallback in enumerate(settings.fallback):
        plans.append(_plan(fallback, env, f"model.fallbacks[{at}]"))
    return tuple(plans)


def _plan(settings: ProviderSettings, env: Mapping[str, str], at: str) -> RequestPlan:
    entry = entry_of(settings, at)
    if entry.protocol == "scripted":
        return RequestPlan(at=at, settings=settings, entry=entry)
    if entry.protocol == "local":
        folder = here.weights_folder(settings.weights, env)
        calls: CallForm = "text" if is_small(settings) else "native"
        quirks = Quirks(body=settings.body, calls=calls)
        return RequestPlan(at=at, settings=settings, entry=entry, quirks=quirks, weights=folder)
    if not settings.name.strip():
        raise Misconfigured(f"{at}.name", "no model is chosen", "Run: hermes model")
    quirks = entry.quirks_of(settings.name)
    if is_small(settings):
        quirks = replace(quirks, calls="text")
    return RequestPlan(
        at=at,
        settings=settings,
        entry=entry,
        quirks=replace(quirks, body={**quirks.body, **settings.body}),
        endpoint=endpoint_of(settings, entry, env, at),
    )


def entry_of(settings: ProviderSettings, at: str) -> CatalogueEntry:
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


def endpoint_of(
    settings: ProviderSettings, entry: CatalogueEntry, env: Mapping[str, str], at: str
) -> Endpoint:
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
                f"{at}.headers", f"“{name}” is not an HTTP header", "Use plain ASCII characters"
            )
        headers[name.lower()] = value
    name = f"{canonical(settings.provider)}:{settings.name}".rstrip(":")
    hint = f"Check the key in {source}" if key else f"Set {_first(entry, at)} in .env"
    whom = EndpointLabel(name=name, url=base_url, key_hint=hint, secret=key)
    return Endpoint(whom=whom, base_url=base_url, headers=headers, timeouts=settings.timeouts)


def _base_url(settings: ProviderSettings, entry: CatalogueEntry, at: str) -> str:
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
            f"{at}.base_url", f"“{shown}” is not a URL", "Write http://… or https://…"
        ) from bad
    return url


def _key(
    settings: ProviderSettings, entry: CatalogueEntry, env: Mapping[str, str], at: str
) -> tuple[str, str]:
    """Return the key, and the name of the setting or variable that it came from."""
    found = [(settings.api_key, f"{at}.api_key"), *((env.get(key, ""), key) for key in entry.keys)]
    for value, source in found:
        if key := value.strip():
            if not _is_plain(key):
                raise Misconfigured(
                    source, "the key contains spaces or special characters", "Copy it again"
                )
            return key, source
    return "", ""


def _first(entry: CatalogueEntry, at: str) -> str:
    return entry.keys[0] if entry.keys else f"{at}.api_key"


def _is_plain(text: str, *, spaces: bool = False) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and (spaces or " " not in text)
