"""What every route is given, and how it reads a request and answers it."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from hermes.channels.api.follow import Waits
from hermes.channels.api.refusals import Unserved, fault_body, unknown, wrong
from hermes.core.channel import Door
from hermes.core.messages import sound

BODY_BYTES_MAX: Final = 10_000_000
DISCARDED_BYTES_MAX: Final = 50_000_000
BODY_S_MAX: Final = 60.0
JSON: Final = "application/json"
_CLOSE: Final = {"connection": "close"}
_json = msgspec.json.Encoder()


@dataclass(eq=False, kw_only=True)
class Front:
    door: Door
    model: str
    waits: Waits = field(default_factory=Waits)
    served: "Counter[tuple[str, int]]" = field(default_factory=Counter)  # by route and status
    waiting: int = 0  # requests behind which a turn is followed
    listening: int = 0  # who hears everything


async def body_of(scope: Scope, receive: Receive, *, within_s: float = BODY_S_MAX) -> bytes | None:
    """The whole body; None when the client went away. Raises Unserved when it is too slow, or too
    large: after the rest has been read, or a client that still writes would never see why."""
    try:
        async with asyncio.timeout(within_s):
            return await _body(scope, receive)
    except TimeoutError as late:
        text = f"The body took longer than {within_s:g} seconds."
        raise Unserved(408, text, code="request_timeout", headers=_CLOSE) from late


async def _body(scope: Scope, receive: Receive) -> bytes | None:
    said = header(scope, b"content-length")
    if said is not None and said.isdecimal() and int(said) > DISCARDED_BYTES_MAX:
        raise _too_large()
    parts: list[bytes] = []
    size = 0
    while size <= DISCARDED_BYTES_MAX:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= BODY_BYTES_MAX:
            parts.append(part)
        if not message.get("more_body", False):
            break
    if size > BODY_BYTES_MAX:
        raise _too_large()
    return b"".join(parts)


def header(scope: Scope, name: bytes) -> str | None:
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None


def named(request: Request) -> str:
    """The id of the path, if any store could know it."""
    name: str = request.path_params["id"]
    if name != sound(name):
        raise unknown("There is nothing of that name.")
    return name


def parameter(
    given: Mapping[str, str], name: str, *, default: int, most: int, least: int = 1
) -> int:
    """A count from the query string."""
    text = given.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or not least <= int(text[:12]) <= most:
        raise wrong(f"{name}: give a whole number from {least} to {most:,}.", "invalid_parameter")
    return int(text)


def document(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(_json.encode(value), status, headers, JSON)


def refused(problem: Unserved) -> Response:
    return Response(fault_body(problem.fault), problem.status, problem.headers, JSON)


def _too_large() -> Unserved:
    text = f"A request may have up to {BODY_BYTES_MAX // 1_000_000} MB."
    return Unserved(413, text, code="request_too_large", headers=_CLOSE)
