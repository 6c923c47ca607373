"""The outermost layer: only who has the key gets in, and every answer is counted and dated.

The key is looked at again and again. When it is another one, whoever came in with the old one has
to leave, in the middle of a stream if need be.
"""

import asyncio
import hashlib
import hmac
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import formatdate
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hermes.channels.api.front import Front, refused
from hermes.channels.api.refusals import NO_RETRY, Unserved, fault_body
from hermes.channels.api.render import sent_event
from hermes.channels.reach import Reach
from hermes.channels.strikes import Strikes
from hermes.channels.visits import Turned, Visitor, visit

OPEN_TO_ALL: Final = "/health"
OTHER: Final = "other"
LOOK_S: Final = 0.5  # how often the key is looked at as long as somebody is inside
_SCHEME: Final = b"bearer "
_EVENTS: Final = b"text/event-stream"

log = logging.getLogger("hermes.channels.api")


class Gate:
    def __init__(
        self,
        app: ASGIApp,
        *,
        front: Front,
        key: Callable[[], str],
        reach: Reach,
        routes: Mapping[object, str],
    ) -> None:
        self._app, self._front, self._reach, self._routes = app, front, reach, routes
        self._strikes = Strikes(time.monotonic)
        self._date = _Dated(front.door.clock)
        self._lock = Lock(key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Answer(send)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = self._routes.get(scope.get("endpoint"), OTHER)
                self._front.served[(route, message["status"])] += 1
                message["headers"].append((b"date", self._date()))
            await answer.send(message)

        problem = self._problem(scope)
        if problem is None and scope["path"] == OPEN_TO_ALL:
            await self._app(scope, receive, noted)
            return
        if problem is None:
            if await self._lock.inside(self._app(scope, receive, noted)):
                return
            problem = _stranger()  # the key has changed meanwhile
        if answer.begun:
            await answer.cut(problem)
        else:
            await refused(problem)(scope, receive, noted)

    def _problem(self, scope: Scope) -> Unserved | None:
        visitor = visit(self._reach, scope)
        if isinstance(visitor, Turned):
            return Unserved(visitor.status, visitor.text, code=visitor.code)
        if scope["path"] == OPEN_TO_ALL:
            return None
        wait_s = self._strikes.wait_s(visitor.name)
        if wait_s and not visitor.near:
            return _too_often(wait_s)
        given = _given(scope)
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


class Lock:
    """The key as it is now, and those who came in with it."""

    def __init__(self, key: Callable[[], str]) -> None:
        self._key = key
        self._inside: dict[asyncio.Timeout, str] = {}
        self._timer: asyncio.TimerHandle | None = None

    def opens_with(self, given: bytes) -> bool:
        """As quick for a key that is nearly right as for any other."""
        key = self._key().encode()
        return hmac.compare_digest(_digest(given), _digest(key)) and bool(key)

    async def inside(self, work: Awaitable[None]) -> bool:
        """Until it is done; false when it was cut off, because the key is another one by now."""
        stay = asyncio.timeout(None)
        try:
            async with stay:
                self._inside[stay] = self._key()
                if self._timer is None:
                    self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)
                await work
        except TimeoutError:
            if not stay.expired():
                raise
            return False
        finally:
            self._inside.pop(stay, None)
        return True

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


class _Answer:
    """How far the answer to one request is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False
        self._streams = self._over = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            types = [value for name, value in message["headers"] if name == b"content-type"]
            self._streams = any(each.startswith(_EVENTS) for each in types)
        else:
            self._over = not message.get("more_body", False)
        await self._send(message)

    async def cut(self, problem: Unserved) -> None:
        """A stream can say why; of anything else the end is missing."""
        if self._streams and not self._over:
            body = sent_event(fault_body(problem.fault))
            await self._send({"type": "http.response.body", "body": body, "more_body": False})


class _Dated:
    """The date as HTTP writes it, made once a second at most."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._second, self._text = 0, b""

    def __call__(self) -> bytes:
        second = int(self._clock())
        if second != self._second:
            self._second, self._text = second, formatdate(second, usegmt=True).encode()
        return self._text


def _given(scope: Scope) -> bytes:
    """The key in the one Authorization header; nothing else proves anything."""
    values: list[bytes] = [v for name, v in scope["headers"] if name == b"authorization"]
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
