"""Telegram calls us: a small HTTP server that says 200 only after the commit. I/O.

The server is uvicorn's without its main loop, which wakes ten times a second and takes the
process's signals.
"""

import asyncio
import hashlib
import hmac
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from hermes.channels.reach import Reach
from hermes.channels.serving import server_config
from hermes.channels.telegram.receive import Receiver, parsed
from hermes.channels.telegram.settings import WebhookSettings
from hermes.channels.telegram.updates import chat_of
from hermes.core.errors import Misconfigured, StoreFailed

BODY_BYTES_MAX = 1_000_000
BODY_S_MAX = 15.0
CONNECTIONS_MAX = 64
KEEP_ALIVE_S = 5
SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 (a name)

log = logging.getLogger("hermes.channels.telegram")


def public_url(settings: WebhookSettings) -> str:
    """Where Telegram is told to call: nobody else knows the last part."""
    return f"{settings.url}/{_path(settings)}"


def _path(settings: WebhookSettings) -> str:
    return hashlib.sha256(f"telegram webhook {settings.secret}".encode()).hexdigest()[:32]


class Hook:
    """Takes one update a request; those of one chat one after the other."""

    def __init__(self, settings: WebhookSettings, receiver: Receiver) -> None:
        self._settings = settings
        self._receiver = receiver
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """The port is open, until the block ends."""
        listener = _bound(self._settings)
        app = Starlette(routes=[Route("/{path:path}", self._update, methods=["POST"])])
        places = {"connections_max": CONNECTIONS_MAX, "backlog": CONNECTIONS_MAX}
        server = uvicorn.Server(server_config(app, Reach(), keep_alive_s=KEEP_ALIVE_S, **places))
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        try:
            await server.startup(sockets=[listener])
            yield
        finally:
            await server.shutdown(sockets=[listener])

    async def _update(self, request: Request) -> Response:
        if not self._is_telegram(request):
            return Response(status_code=404)
        body = await _body(request)
        if body is None:
            return Response(status_code=413)
        self._receiver.door.polled()
        update = parsed(body)
        if update is None:
            return Response()  # it would be sent again for ever
        lock = self._locks.setdefault(chat_of(update), asyncio.Lock())
        try:
            async with lock:
                await self._receiver.take(update)
        except StoreFailed as failed:
            log.warning("an update could not be stored: %s", failed)
            return Response(status_code=503)
        return Response()

    def _is_telegram(self, request: Request) -> bool:
        path = request.url.path.rpartition("/")[2].encode()
        known = hmac.compare_digest(path, _path(self._settings).encode())
        given = request.headers.get(SECRET_HEADER, "").encode()
        return hmac.compare_digest(given, self._settings.secret.encode()) and known


def _bound(settings: WebhookSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        problem = f"cannot listen on {settings.host} port {settings.port}: {error.strerror}"
        fix = "Set another port, or stop the program that has it"
        raise Misconfigured("platforms.telegram.webhook.port", problem, fix) from error


async def _body(request: Request) -> bytes | None:
    """None when it is too long or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S_MAX):
            async for part in request.stream():
                body += part
                if len(body) > BODY_BYTES_MAX:
                    return None
    except (TimeoutError, ClientDisconnect):
        return None
    return bytes(body)
