"""`platforms.webhook` as values: the routes, how each is signed, where answers go."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from hermes.core.errors import Misconfigured
from hermes.core.messages import Address
from hermes.httpd.reach import NetworkReach, demand_strong, is_weak, reach_of
from hermes.text.similar import likely

HERE = "platforms.webhook"
PROMPT_CHARS_MAX = 20_000
PLACEHOLDERS_MAX = 100
ROUTES_MAX = 1_000
PLACEHOLDER = re.compile(r"\{([A-Za-z_][\w-]*(?:\.[\w-]+)*)\}", re.ASCII)
ROUTE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
TARGET = re.compile(r"([a-z][a-z0-9_-]*):([^:\s]+)(?::([^:\s]+))?")

Signature = Literal["hermes", "github", "plain"]
Lane = Literal["event", "route"]
S = TypeVar("S", bound=Struct)


@dataclass(frozen=True, kw_only=True)
class WebhookRoute:
    """One URL for events. Its text form hides the secret."""

    name: str
    secret: str = field(repr=False)
    signature: Signature = "hermes"
    prompt: str = "{body}"
    deliver: Address | Literal["home"]
    session: Lane = "event"


@dataclass(frozen=True, kw_only=True)
class WebhookSettings:
    host: str
    port: int
    routes: Mapping[str, WebhookRoute]
    reach: NetworkReach


class _Platform(Struct, forbid_unknown_fields=True):
    enabled: bool = True
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8644
    routes: dict[str, object] = {}
    hosts: list[str] | str = ""
    trusted_proxies: list[str] | str = ""
    tls: dict[str, object] = {}


KEYS = _Platform.__struct_fields__


class _Route(Struct, forbid_unknown_fields=True):
    secret: str = ""
    signature: Signature = "hermes"
    prompt: str = "{body}"
    deliver: str = ""
    session: Lane = "event"


_FIXES = {
    "enabled": "Write true or false",
    "host": 'Write an address in quotes: host: "127.0.0.1"',
    "port": "Write a whole number, 0 to 65535",
    "hosts": "List the names that senders use: [hooks.example.org]",
    "trusted_proxies": "List addresses or networks: [10.0.0.2, 172.18.0.0/16]",
    "tls": "Write {certificate_file: /path/of/fullchain.pem, key_file: /path/of/key.pem}",
    "routes": "Write one section for each route below routes:",
    "secret": 'Put it in quotes: secret: "…"',
    "signature": "Write hermes, github or plain",
    "prompt": 'Write a text in quotes: prompt: "{body}"',
    "deliver": 'Write "telegram:12345", "home", or "" for nowhere',
    "session": "Write event (a lane for each event) or route (one lane for all)",
}


def webhook_settings(raw: Mapping[str, object], secrets: Mapping[str, str]) -> WebhookSettings:
    """Read the section. Raise Misconfigured for the first problem."""
    platform = _converted(raw, _Platform, HERE)
    if not platform.routes:
        fix = "Add one: platforms.webhook.routes.NAME.prompt, and its secret"
        raise Misconfigured(f"{HERE}.routes", "there is no route", fix)
    if len(platform.routes) > ROUTES_MAX:
        raise Misconfigured(f"{HERE}.routes", f"more than {ROUTES_MAX} routes", "Remove some")
    routes = {name: _route(name, section, secrets) for name, section in platform.routes.items()}
    reach = reach_of(HERE, msgspec.structs.asdict(platform), platform.host)
    return WebhookSettings(host=platform.host, port=platform.port, routes=routes, reach=reach)


def secret_now(route: str, raw: Mapping[str, object], secrets: Mapping[str, str]) -> str:
    """Return the current secret; empty when none can be used."""
    routes = raw.get("routes")
    section = routes.get(route) if isinstance(routes, Mapping) else None
    if not isinstance(section, Mapping):
        return ""
    given = section.get("secret")
    own = given.strip() if isinstance(given, str) else ""
    secret = own or secrets.get(secret_name(route), "").strip()
    return "" if is_weak(secret) else secret


def secret_name(route: str) -> str:
    """Return the name of a route's secret in .env."""
    return f"WEBHOOK_{re.sub('[^A-Z0-9]', '_', route.upper())}_SECRET"


def _route(name: str, raw: object, secrets: Mapping[str, str]) -> WebhookRoute:
    key = f"{HERE}.routes.{name}"
    if not ROUTE_NAME.fullmatch(name):
        fix = "Use up to 64 small letters, digits, - and _"
        raise Misconfigured(key, "is not a valid name for a route", fix)
    if not isinstance(raw, Mapping):
        raise Misconfigured(key, "is not a section of keys and values", _FIXES["routes"])
    section = _converted(raw, _Route, key)
    secret = section.secret.strip() or secrets.get(secret_name(name), "").strip()
    if not secret:
        fix = f"Run: hermes config set {secret_name(name)} -"
        raise Misconfigured(f"{key}.secret", "a route needs a secret to check signatures", fix)
    generated = f"Run: openssl rand -hex 32 | hermes config set {secret_name(name)} -"
    demand_strong(f"{key}.secret", secret, generated)
    _check_prompt(f"{key}.prompt", section.prompt)
    return WebhookRoute(
        name=name,
        secret=secret,
        signature=section.signature,
        prompt=section.prompt,
        deliver=_target(name, section.deliver.strip()),
        session=section.session,
    )


def _check_prompt(key: str, prompt: str) -> None:
    if not prompt.strip():
        raise Misconfigured(key, "is empty", 'Write a text, or "{body}" for the event itself')
    if len(prompt) > PROMPT_CHARS_MAX or len(PLACEHOLDER.findall(prompt)) > PLACEHOLDERS_MAX:
        limits = f"{PROMPT_CHARS_MAX:,} characters and {PLACEHOLDERS_MAX} placeholders"
        raise Misconfigured(key, f"is longer than {limits}", "Make it shorter")


def _target(route: str, written: str) -> Address | Literal["home"]:
    if not written:
        return Address(platform="webhook", chat=route)
    if written == "home":
        return "home"
    found = TARGET.fullmatch(written)
    if found is None:
        key = f"{HERE}.routes.{route}.deliver"
        raise Misconfigured(key, f"“{written[:40]}” is not an address", _FIXES["deliver"])
    platform, chat, thread = found.groups(default="")
    return Address(platform=platform, chat=chat, thread=thread)


def _converted(raw: Mapping[str, object], shape: type[S], key: str) -> S:
    known = shape.__struct_fields__
    for name in raw:
        if name not in known:
            raise Misconfigured(f"{key}.{name}", "there is no such setting", _meant(name, known))
    given = {name: value for name, value in raw.items() if value is not None}
    try:
        return msgspec.convert(given, shape, strict=True)
    except msgspec.ValidationError as wrong:
        problem, _, place = str(wrong).partition(" - at `$.")
        name = re.split(r"[^\w]", place)[0]
        raise Misconfigured(f"{key}.{name}", _unquoted(problem), _FIXES[name]) from None


def _unquoted(problem: str) -> str:
    """Return the message without the value, which may be a secret."""
    return "is not a valid value" if problem.startswith("Invalid enum") else problem


def _meant(name: str, known: Iterable[str]) -> str:
    near = likely(name, known)
    return f"Did you mean {near[0]}?" if near else f"Known settings: {', '.join(known)}"
