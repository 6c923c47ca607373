"""Translate an HTTP request into an Inbound: signature, delivery id, prompt.

Pure. Nothing of an event is used before its signature is checked; all of it is labelled untrusted.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from hermes.channels.webhook.settings import PLACEHOLDER, WebhookRoute
from hermes.core.ids import MessageId, SessionKey, session_key
from hermes.core.messages import Address, Inbound, Person, sound
from hermes.core.people import Role, derived
from hermes.text.quoting import neutral

WINDOW_S = 300.0
DELIVERY = re.compile(r"[!-~]{1,200}")
TIMESTAMP = re.compile(r"[0-9]{1,12}")
FIELD_CHARS_MAX = 8_000
BODY_CHARS_MAX = 40_000
TEXT_CHARS_MAX = 60_000


class Signed(Struct, frozen=True):
    """The sender has the secret. `dated`: the signature expires."""

    delivery: str
    signature: str
    dated: bool = False


class Refusal(Struct, frozen=True):
    """The HTTP status, and what the sender can do about it."""

    status: int
    why: str


def verified(
    route: WebhookRoute, headers: Mapping[str, str], body: bytes, *, now: float
) -> Signed | Refusal:
    """Check the signature. `headers` have lower-case names."""
    match route.signature:
        case "hermes":
            return _dated(route, headers, body, now)
        case "github":
            given, name = headers.get("x-hub-signature-256", ""), "x-github-delivery"
            return _undated(route, given, headers.get(name, "") or digest(body), body)
        case "plain":
            given, delivery = headers.get("x-hermes-signature", ""), headers.get("x-delivery-id")
            return _undated(route, given, delivery or "", body)


def signature(secret: str, content: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()


def digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _dated(
    route: WebhookRoute, headers: Mapping[str, str], body: bytes, now: float
) -> Signed | Refusal:
    written = headers.get("x-hermes-timestamp", "")
    given = headers.get("x-hermes-signature", "")
    if not TIMESTAMP.fullmatch(written):
        return Refusal(401, "X-Hermes-Timestamp must be the time in whole seconds since 1970")
    content = f"{written}.".encode() + body
    if not _equal(signature(route.secret, content), given):
        return Refusal(401, "X-Hermes-Signature does not match the time, the body and the secret")
    if abs(now - int(written)) > WINDOW_S:
        return Refusal(401, f"X-Hermes-Timestamp is more than {WINDOW_S:.0f} seconds off")
    delivery = headers.get("x-hermes-delivery", "") or digest(content)
    return _identified(Signed(delivery, given, dated=True))


def _undated(route: WebhookRoute, given: str, delivery: str, body: bytes) -> Signed | Refusal:
    if not _equal(signature(route.secret, body), given):
        return Refusal(401, "the signature does not match the body and the secret")
    return _identified(Signed(delivery, given))


def _identified(signed: Signed) -> Signed | Refusal:
    if DELIVERY.fullmatch(signed.delivery):
        return signed
    return Refusal(400, "a delivery needs an id of its own: 1 to 200 plain characters")


def _equal(expected: str, given: str) -> bool:
    return hmac.compare_digest(expected.encode(), given.lower().encode("utf-8", "replace"))


def prompt_text(template: str, body: bytes) -> str:
    """Fill the placeholders of the template, once: inserted text is not expanded again."""
    raw = body.decode("utf-8", "replace")
    fields = _parsed(body)

    def filled(found: re.Match[str]) -> str:
        if found[1] == "body":
            return _cut(raw, BODY_CHARS_MAX)
        return _cut(_shown(_at(fields, found[1])), FIELD_CHARS_MAX)

    return _cut(neutral(sound(PLACEHOLDER.sub(filled, template))), TEXT_CHARS_MAX)


def inbound_of(
    route: WebhookRoute, signed: Signed, body: bytes, *, address: Address, at: float
) -> Inbound:
    """Return the message. It waits for the session's running turn: an event interrupts nothing."""
    event = Inbound(
        id=MessageId(signed.delivery),
        account=f"webhook:{route.name}",
        session=_lane(route, signed),
        sender=Person(id=f"webhook:{route.name}"),
        address=address,
        text=prompt_text(route.prompt, body),
        at=at,
        origin="webhook",
        labels=("untrusted",),
        waits=True,
    )
    return derived(event, ceiling=Role.PAIRED)  # others write events, even signed ones


def _lane(route: WebhookRoute, signed: Signed) -> SessionKey:
    own = signed.delivery if route.session == "event" else ""
    return session_key("webhook", "dm", route.name, own)


def _parsed(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _at(value: object, path: str) -> object:
    for name in path.split("."):
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _shown(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
