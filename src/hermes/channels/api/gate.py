"""The outermost layer: only who has the key gets in, and every answer is counted and dated."""

import hmac
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hermes.channels.api.front import Front, refused
from hermes.channels.api.refusals import Unserved

OPEN_TO_ALL: Final = "/health"
OTHER: Final = "other"
_SCHEME: Final = b"bearer "


class Gate:
    def __init__(
        self, app: ASGIApp, *, front: Front, key: str, routes: Mapping[object, str]
    ) -> None:
        self._app, self._front, self._routes = app, front, routes
        self._key = key.encode()
        self._date = _Dated(front.door.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = self._routes.get(scope.get("endpoint"), OTHER)
                self._front.served[(route, message["status"])] += 1
                message["headers"].append((b"date", self._date()))
            await send(message)

        if scope["path"] != OPEN_TO_ALL and not self._knows(scope):
            await refused(_stranger())(scope, receive, noted)
        else:
            await self._app(scope, receive, noted)

    def _knows(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            if name == b"authorization":
                scheme, given = value[: len(_SCHEME)].lower(), value[len(_SCHEME) :].strip()
                return scheme == _SCHEME and hmac.compare_digest(given, self._key)
        return False


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


def _stranger() -> Unserved:
    text = "Send the key of platforms.api.key: Authorization: Bearer KEY."
    headers = {"www-authenticate": "Bearer"}
    return Unserved(401, text, code="invalid_api_key", headers=headers)
