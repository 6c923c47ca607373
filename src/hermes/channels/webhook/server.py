"""The channel: an HTTP server that acknowledges an event only after its commit."""

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec

from hermes.channels.webhook.manifest import MANIFEST
from hermes.channels.webhook.render import render
from hermes.channels.webhook.settings import HERE, WebhookRoute, WebhookSettings
from hermes.channels.webhook.signatures import Signatures
from hermes.channels.webhook.translate import Refusal, Signed, inbound_of, verified
from hermes.core.channel import ChannelHost, Manifest
from hermes.core.errors import Fenced, Misconfigured, Rejected, StoreFailed
from hermes.core.messages import Address, Reply
from hermes.httpd.auth_backoff import AuthBackoff
from hermes.httpd.connection import ConnectionTimeouts
from hermes.httpd.origin_check import Turned, visit
from hermes.httpd.reach import NetworkReach, certified
from hermes.httpd.request import HttpRequest, Left, TooLarge, TooSlow
from hermes.httpd.response import HttpResponse
from hermes.httpd.routes import HttpRoute as Place
from hermes.httpd.server import Terms, serving
from hermes.httpd.site import PlainSite

BODY_BYTES_MAX = 1_000_000
BODY_S_MAX = 15.0
TERMS = Terms(
    connections_max=200, backlog=200, patience=ConnectionTimeouts(keep_alive_s=5.0), grace_s=5.0
)
RETRY_S = {503: "5", 429: "60"}
UNSIGNED = 401

log = logging.getLogger("hermes.channels.webhook")


class WebhookChannel:
    """Both sides of the channel. `port` is where it listens; 0: it does not."""

    def __init__(
        self,
        settings: WebhookSettings,
        *,
        memory: Path,
        secret: Callable[[str], str] | None = None,
        body_s_max: float = BODY_S_MAX,
    ) -> None:
        """`secret` returns the current secret of a route; without it those of the settings count.
        `memory` is a folder for this channel."""
        self._settings = settings
        self._secret = secret or (lambda name: settings.routes[name].secret)
        self._body_s_max = body_s_max
        self._signatures = Signatures(memory / "signatures")
        self._strikes = AuthBackoff(time.monotonic)
        self.port = 0

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    def render(self, text: str) -> Sequence[str]:
        return render(text)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        """Do nothing: the sender has disconnected, and the answer is read in the session."""
        log.debug("%s of %d characters is stored, not sent", reply.id, len(chunk))
        return key

    async def listen(self, channel_host: ChannelHost) -> None:
        tls = certified(HERE, self._settings.reach.tls)
        listener = bound(self._settings.host, self._settings.port)
        try:
            async with serving(self._site(channel_host), [listener], TERMS, tls):
                self.port = listener.getsockname()[1]
                channel_host.connected()
                await asyncio.get_running_loop().create_future()
        finally:
            self.port = 0

    async def preflight(self, held: Callable[[str, int], bool]) -> None:
        """Raise Misconfigured when `listen` would. An address that is `held` is not tried."""
        certified(HERE, self._settings.reach.tls)
        if not held(self._settings.host, self._settings.port):
            bound(self._settings.host, self._settings.port).close()

    def _site(self, channel_host: ChannelHost) -> "_Checked":
        async def event(request: HttpRequest) -> HttpResponse:
            return await self._event(channel_host, request)

        async def health(_request: HttpRequest) -> HttpResponse:
            state = channel_host.state()
            return _said({"status": "ok"}) if state == "ready" else _said({"status": state}, 503)

        places = [Place("/webhooks/{route}", event, ["POST"]), Place("/health", health)]
        return _Checked(places, self._settings.reach)

    async def _event(self, channel_host: ChannelHost, request: HttpRequest) -> HttpResponse:
        route = self._settings.routes.get(request.ids["route"])
        if route is None:
            return _refused(Refusal(404, "there is no such route"))
        body = await _body(request, self._body_s_max)
        if isinstance(body, Refusal):
            return _refused(body)
        now = channel_host.clock()
        signed = self._signed(route, request, body, now)
        if isinstance(signed, Refusal):
            return _refused(signed)
        try:
            if not await self._signatures.fits(signed, now):
                return _refused(_USED)
            address = await _address(channel_host, route)
            accepted = await channel_host.accept(
                inbound_of(route, signed, body, address=address, at=now)
            )
        except Rejected as rejected:
            return _refused(Refusal(422, str(rejected)))
        except (StoreFailed, Fenced) as failed:
            log.warning("route %s could not keep an event: %s", route.name, failed)
            return _refused(Refusal(503, "the event could not be stored; send it again later"))
        if not accepted.fresh:
            return _said({"status": "duplicate", "session": accepted.key})
        return _said({"status": "accepted", "turn": None, "session": accepted.key}, 202)

    def _signed(
        self, route: WebhookRoute, request: HttpRequest, body: bytes, now: float
    ) -> Signed | Refusal:
        """Check the signature. A valid one is always accepted, so wrong signatures from the same
        address cannot lock its sender out."""
        secret, visitor = self._secret(route.name), request.visitor
        if not secret:
            return Refusal(401, "the route has no secret")
        signed = verified(replace(route, secret=secret), request.head.named(), body, now=now)
        if isinstance(signed, Signed):
            return signed
        if self._strikes.wait_s(visitor):
            return Refusal(429, "too many wrong signatures came from there")
        if signed.status == UNSIGNED:
            log.info("route %s refused an event: %s", route.name, signed.why)
            self._strikes.failed(visitor)
        return signed


class _Checked(PlainSite):
    """Check Host and origin of a request before anything else (DNS rebinding, CSRF)."""

    def __init__(self, places: Sequence[Place], reach: NetworkReach) -> None:
        super().__init__(places)
        self._reach = reach

    async def answer(self, request: HttpRequest) -> HttpResponse | None:
        visitor = visit(self._reach, request.head)
        if isinstance(visitor, Turned):
            return _refused(Refusal(visitor.status, visitor.text))
        request.visitor = visitor.name
        return await super().answer(request)


_USED = Refusal(
    409, "this signature was already used for another delivery; sign each one separately"
)


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise Misconfigured when the address cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends small pieces at once (TCP_NODELAY).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            fix = "Stop the program that has it, or set another port"
            raise Misconfigured(f"{HERE}.port", f"port {port} is in use", fix) from error
        if error.errno == errno.EACCES:
            fix = "Use a port above 1023"
            raise Misconfigured(f"{HERE}.port", f"port {port} is not allowed", fix) from error
        fix = 'Use an address of this machine: "127.0.0.1", or "0.0.0.0" for all'
        raise Misconfigured(f"{HERE}.host", f"cannot listen on {host}", fix) from error
    return listener


async def _body(request: HttpRequest, within_s: float) -> bytes | Refusal:
    try:
        return await request.body(BODY_BYTES_MAX, within_s)
    except TooLarge:
        return Refusal(413, f"an event has at most {BODY_BYTES_MAX:,} bytes")
    except TooSlow:
        return Refusal(408, f"the body took longer than {within_s:g} s")
    except Left:
        return Refusal(400, "the body was cut")


async def _address(channel_host: ChannelHost, route: WebhookRoute) -> Address:
    """Return where the answer goes. An event is kept even when no home chat is set."""
    target: Address | Literal["home"] = route.deliver
    if target != "home":
        return target
    homes = await channel_host.store.library.homes()
    if homes:
        return homes[0].address
    log.warning(
        "route %s answers to the home chat, which is not set; send /sethome in a chat", route.name
    )
    return Address(platform="webhook", chat=route.name)


def _refused(refusal: Refusal) -> HttpResponse:
    headers = {"retry-after": RETRY_S[refusal.status]} if refusal.status in RETRY_S else {}
    return _said({"status": "refused", "why": refusal.why}, refusal.status, headers)


def _said(
    what: Mapping[str, str | None], status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(what), status, headers or {}, "application/json")
