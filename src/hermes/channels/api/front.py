"""What every route gets, and how it reads a request and writes its response."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from hermes.channels.api.follow import Waits
from hermes.channels.api.refusals import Unserved, fault_body, unknown, wrong
from hermes.core.channel import ChannelHost
from hermes.core.messages import sound
from hermes.httpd.request import HttpRequest, Left, TooLarge, TooSlow
from hermes.httpd.response import HttpResponse

if TYPE_CHECKING:
    from hermes.views.jobs import JobActs

BODY_BYTES_MAX: Final = 10_000_000
DISCARDED_BYTES_MAX: Final = 50_000_000
BODY_S_MAX: Final = 60.0
JSON: Final = "application/json"
_CLOSE: Final = {"connection": "close"}
_json = msgspec.json.Encoder()


class Front(Struct, eq=False, kw_only=True):
    host: ChannelHost
    model: str
    jobs: "Callable[[], JobActs] | None" = None
    waits: Waits = field(default_factory=Waits)
    served: "Counter[tuple[str, int]]" = field(default_factory=Counter)  # by route and status
    waiting: int = 0  # requests behind which a turn is followed
    listening: int = 0  # who hears everything


async def body_of(request: HttpRequest, *, within_s: float = BODY_S_MAX) -> bytes | None:
    """Return the whole body; None when the client disconnected. Raise Unserved when it is too slow
    or too large; the rest is read first, because a client that is still writing would not see why.
    """
    try:
        return await request.body(BODY_BYTES_MAX, within_s, discarded=DISCARDED_BYTES_MAX)
    except Left:
        return None
    except TooSlow as late:
        text = f"The body took longer than {within_s:g} s."
        raise Unserved(408, text, code="request_timeout", headers=_CLOSE) from late
    except TooLarge as large:
        text = f"A request may have up to {BODY_BYTES_MAX // 1_000_000} MB."
        raise Unserved(413, text, code="request_too_large", headers=_CLOSE) from large


def named(request: HttpRequest) -> str:
    """Return the id in the path. Raise Unserved for one that no store can know."""
    name = request.ids["id"]
    if name != sound(name):
        raise unknown("There is nothing of that name.")
    return name


def parameter(
    given: Mapping[str, str], name: str, *, default: int, most: int, least: int = 1
) -> int:
    """Return a count from the query string."""
    text = given.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or not least <= int(text[:12]) <= most:
        raise wrong(f"{name}: give a whole number from {least} to {most:,}.", "invalid_parameter")
    return int(text)


def document(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    return HttpResponse(_json.encode(value), status, headers or {}, JSON)


def refused(problem: Unserved) -> HttpResponse:
    return HttpResponse(fault_body(problem.fault), problem.status, problem.headers, JSON)
