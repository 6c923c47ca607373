"""Settings and environment to a plan of whom to ask: all that can be wrong is found here. Pure.

Making a provider of it loads what speaks its protocol (build).
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Misconfigured
from hermes.egress.origin import BadURL, origin
from hermes.providers.catalogue import ENTRIES, Entry, canonical, closest
from hermes.providers.pieces import Quirks
from hermes.providers.settings import ModelSettings
from hermes.providers.whom import Endpoint, Whom, is_loopback

ANTHROPIC_VERSION: Final = "2023-06-01"
FALLBACKS_MAX: Final = 8
NO_MODEL: Final = (
    "Choose one with: hermes model; or take the small built-in one: hermes model --provider local"
)


class Plan(Struct, frozen=True, kw_only=True):
    """One model that is to be asked. Without an endpoint it is on this machine, and whether it is
    there is seen when the provider is made."""

    at: str  # the setting that names it
    settings: ModelSettings
    entry: Entry
    quirks: Quirks = Quirks()
    endpoint: Endpoint | None = None


def planned(settings: ModelSettings, env: Mapping[str, str]) -> tuple[Plan, ...]:
    """The model and its fallbacks. Raises Misconfigured, naming key and fix."""
    if len(settings.fallback) > FALLBACKS_MAX:
        raise Misconfigured(
            "model.fallbacks", f"more than {FALLBACKS_MAX} entries", "Name fewer models"
        )
    plans = [_plan(settings, env, "model")]
    for at, fallback in enumerate(settings.fallback):
        plans.append(_plan(fallback, env, f"model.fallbacks[{at}]"))
    return tuple(plans)


def _plan(settings: ModelSettings, env: Mapping[str, str], at: str) -> Plan:
    entry = entry_of(settings, at)
    if entry.protocol in ("scripted", "local"):
        return Plan(at=at, settings=settings, entry=entry)
    if not settings.name.strip():
        raise Misconfigured(f"{at}.name", "no model is chosen", "Run: hermes model")
    quirks = entry.quirks_of(settings.name)
    return Plan(
        at=at,
        settings=settings,
        entry=entry,
        quirks=replace(quirks, body={**quirks.body, **settings.body}),
        endpoint=endpoint_of(settings, entry, env, at),
    )


def entry_of(settings: ModelSettings, at: str) -> Entry:
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


def endpoint_of(settings: ModelSettings, entry: Entry, env: Mapping[str, str], at: str) -> Endpoint:
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
