"""The outermost layer: require the key, count every response and add its date.

The key is checked continuously. When it changes, requests that came in with the old one end, also
in the middle of a stream.
"""

import asyncio
import hashlib
import hmac
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from hermes.channels.api.front import Front, refused
from hermes.channels.api.refusals import NO_RETRY, Unserved, fault_body
from hermes.channels.api.render import sent_event
from hermes.httpd.auth_backoff import AuthBackoff
from hermes.httpd.head import RequestHead
from hermes.httpd.origin_check import Turned, Visitor, visit
from hermes.httpd.reach import NetworkReach
from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse, Lines, http_date
from hermes.httpd.routes import Handle

OPEN_TO_ALL: Final = "/health"
OTHER: Final = "other"
LOOK_S: Final = 0.5  # how often the key is looked at as long as somebody is inside
_SCHEME: Final = b"bearer "

T = TypeVar("T")

log = logging.getLogger("hermes.channels.api")


class Stale(Exception):
    """The key changed while the request was answered."""


class Gate:
    """A site that requires the key."""

    def __init__(
        self, inside: Handle, *, front: Front, key: Callable[[], str], reach: NetworkReach
    ) -> None:
        self._inside, self._front, self._reach = inside, front, reach
        self._strikes = AuthBackoff(time.monotonic)
        self._date = _Dated(front.host.clock)
        self._lock = ApiKeyLock(key)

    async def answer(self, request: HttpRequest) -> HttpResponse | None:
        problem = self._problem(request.head)
        if problem is not None:
            return refused(problem)
        if request.head.path == OPEN_TO_ALL:
            return await self._inside(request)
        try:
            return await self._lock.inside(self._inside(request))
        except Stale:
            problem = _stranger()
        if request.pipe is None:
            return refused(problem)
        request.pipe.close(sent_event(fault_body(problem.fault)))
        return None

    def mark(self, request: HttpRequest, status: int) -> Lines:
        self._front.served[(request.route or OTHER, status)] += 1
        return ((b"date", self._date()),)

    def broken(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        text = "Something broke here. The log of the gateway says what."
        return refused(Unserved(500, text, code="internal_error", type_="server_error"))

    def _problem(self, head: RequestHead) -> Unserved | None:
        visitor = visit(self._reach, head)
        if isinstance(visitor, Turned):
            return Unserved(visitor.status, visitor.text, code=visitor.code)
        if head.path == OPEN_TO_ALL:
            return None
        wait_s = self._strikes.wait_s(visitor.name)
        if wait_s and not visitor.near:
            return _too_often(wait_s)
        given = _given(head)
        if given and self._lock.opens_with(given):
            return None
        if wait_s:
            return _too_often(wait_s)
        if given:  # who shows no key does not guess one
            self._failed(visitor)
        return _stranger()

    def _failed(self, visitor: Visitor) -> None:
        if self._strikes.failed(visitor.name):
            wait_s = self._strikes.wait_s(visitor.name)
            log.warning("many wrong keys from %s: refused for %.0f s", visitor.name, wait_s)


class ApiKeyLock:
    """The current key, and the requests that came in with it."""

    def __init__(self, key: Callable[[], str]) -> None:
        self._key = key
        self._inside: dict[asyncio.Timeout, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def opens_with(self, given: bytes) -> bool:
        """Compare the key in constant time."""
        key = self._key().encode()
        return hmac.compare_digest(_digest(given), _digest(key)) and bool(key)

    async def inside(self, work: Awaitable[T]) -> T:
        """Run the request to its end. Raise Stale when the key changed meanwhile."""
        stay = asyncio.timeout(None)
        try:
            async with stay:
                self._inside[stay] = self._key()
                if self._timer is None:
                    self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)
                return await work
        except TimeoutError as cut:
            if not stay.expired():
                raise
            raise Stale from cut
        finally:
            self._inside.pop(stay, None)

    def _look(self) -> None:
        self._timer = None
        if not self._inside:
            return  # nothing wakes up while nobody is here
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(LOOK_S, self._look)
        key = self._key()
        for stay, brought in self._inside.items():
            if brought != key and not stay.expired():
                stay.reschedule(loop.time())


class _Dated:
    """The Date header, formatted at most once a second."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._second, self._text = 0, b""

    def __call__(self) -> bytes:
        second = int(self._clock())
        if second != self._second:
            self._second, self._text = second, http_date(second)
        return self._text


def _given(head: RequestHead) -> bytes:
    """Return the key of the single Authorization header. Nothing else is accepted as proof."""
    values = [value for name, value in head.headers if name == b"authorization"]
    if len(values) != 1 or values[0][: len(_SCHEME)].lower() != _SCHEME:
        return b""
    return values[0][len(_SCHEME) :].strip()


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def _stranger() -> Unserved:
    text = "Send the key of platforms.api.key: Authorization: Bearer KEY."
    headers = {"www-authenticate": "Bearer"}
    return Unserved(401, text, code="invalid_api_key", headers=headers)


def _too_often(wait_s: float) -> Unserved:
    text = "Too many wrong keys came from there. Wait, then send the right one."
    headers = {"retry-after": str(math.ceil(wait_s)), **NO_RETRY}
    return Unserved(429, text, code="too_many_failures", headers=headers)
