"""Receive updates by webhook: an HTTP server that responds 200 only after the commit. I/O."""

import hashlib
import hmac
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hermes.channels.telegram.receive import TelegramReceiver, parsed
from hermes.channels.telegram.settings import TelegramWebhookSettings
from hermes.channels.telegram.updates import chat_of
from hermes.core.errors import Fenced, Misconfigured, StoreFailed
from hermes.httpd.connection import ConnectionTimeouts
from hermes.httpd.request import HttpRequest, Unread
from hermes.httpd.response import HttpResponse
from hermes.httpd.routes import HttpRoute
from hermes.httpd.server import Terms, serving
from hermes.httpd.site import PlainSite

BODY_BYTES_MAX = 1_000_000
BODY_S_MAX = 15.0
TERMS = Terms(
    connections_max=64, backlog=64, patience=ConnectionTimeouts(keep_alive_s=5.0), grace_s=5.0
)
SECRET_HEADER = b"x-telegram-bot-api-secret-token"

log = logging.getLogger("hermes.channels.telegram")


def public_url(settings: TelegramWebhookSettings) -> str:
    """Return the URL that Telegram is told to call; its last part is secret."""
    return f"{settings.url}/{_path(settings)}"


def _path(settings: TelegramWebhookSettings) -> str:
    return hashlib.sha256(f"telegram webhook {settings.secret}".encode()).hexdigest()[:32]


class WebhookReceiver:
    """Takes one update per request; those of one chat one after the other."""

    def __init__(self, settings: TelegramWebhookSettings, receiver: TelegramReceiver) -> None:
        self._settings = settings
        self._receiver = receiver

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Listen on the port until the block ends."""
        site = PlainSite([HttpRoute("/{path:path}", self._update, ["POST"])])
        async with serving(site, [bound(self._settings)], TERMS):
            yield

    async def _update(self, request: HttpRequest) -> HttpResponse:
        if not self._is_telegram(request):
            return HttpResponse(status=404)
        try:
            body = await request.body(BODY_BYTES_MAX, BODY_S_MAX)
        except Unread:
            return HttpResponse(status=413)
        self._receiver.host.polled()
        update = parsed(body)
        if update is None:
            return HttpResponse()  # it would be sent again for ever
        try:
            async with self._receiver.locks.of(chat_of(update)):
                await self._receiver.take(update)
        except (StoreFailed, Fenced) as failed:
            log.warning("an update could not be stored: %s", failed)
            return HttpResponse(status=503)
        return HttpResponse()

    def _is_telegram(self, request: HttpRequest) -> bool:
        path = request.head.path.rpartition("/")[2].encode()
        known = hmac.compare_digest(path, _path(self._settings).encode())
        given = (request.head.header(SECRET_HEADER) or "").encode()
        return hmac.compare_digest(given, self._settings.secret.encode()) and known


def bound(settings: TelegramWebhookSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        problem = f"cannot listen on {settings.host} port {settings.port}: {error.strerror}"
        fix = "Set another port, or stop the program that has it"
        raise Misconfigured("platforms.telegram.webhook.port", problem, fix) from error
