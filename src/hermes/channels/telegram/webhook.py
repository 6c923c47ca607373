"""Telegram calls us: an HTTP server that says 200 only after the commit. I/O."""

import asyncio
import hashlib
import hmac
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from hermes.channels.serving.answer import Answer
from hermes.channels.serving.line import Patience
from hermes.channels.serving.request import Request, Unread
from hermes.channels.serving.routes import Route
from hermes.channels.serving.server import Terms, serving
from hermes.channels.serving.site import Plain
from hermes.channels.telegram.receive import Receiver, parsed
from hermes.channels.telegram.settings import WebhookSettings
from hermes.channels.telegram.updates import chat_of
from hermes.core.errors import Misconfigured, StoreFailed

BODY_BYTES_MAX = 1_000_000
BODY_S_MAX = 15.0
TERMS = Terms(connections_max=64, backlog=64, patience=Patience(keep_alive_s=5.0), grace_s=5.0)
SECRET_HEADER = b"x-telegram-bot-api-secret-token"

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
        site = Plain([Route("/{path:path}", self._update, ["POST"])])
        async with serving(site, [_bound(self._settings)], TERMS):
            yield

    async def _update(self, request: Request) -> Answer:
        if not self._is_telegram(request):
            return Answer(status=404)
        try:
            body = await request.body(BODY_BYTES_MAX, BODY_S_MAX)
        except Unread:
            return Answer(status=413)
        self._receiver.door.polled()
        update = parsed(body)
        if update is None:
            return Answer()  # it would be sent again for ever
        lock = self._locks.setdefault(chat_of(update), asyncio.Lock())
        try:
            async with lock:
                await self._receiver.take(update)
        except StoreFailed as failed:
            log.warning("an update could not be stored: %s", failed)
            return Answer(status=503)
        return Answer()

    def _is_telegram(self, request: Request) -> bool:
        path = request.head.path.rpartition("/")[2].encode()
        known = hmac.compare_digest(path, _path(self._settings).encode())
        given = (request.head.header(SECRET_HEADER) or "").encode()
        return hmac.compare_digest(given, self._settings.secret.encode()) and known


def _bound(settings: WebhookSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        problem = f"cannot listen on {settings.host} port {settings.port}: {error.strerror}"
        fix = "Set another port, or stop the program that has it"
        raise Misconfigured("platforms.telegram.webhook.port", problem, fix) from error
