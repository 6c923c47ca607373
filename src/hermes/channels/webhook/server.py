"""The channel itself: a small HTTP server. An event is acknowledged after its commit, never before.

The server is uvicorn's, without its main loop: that one wakes ten times a second and takes the
process's signals.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Sequence
from typing import Literal

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Path

from hermes.channels.webhook.manifest import MANIFEST
from hermes.channels.webhook.render import render
from hermes.channels.webhook.settings import HERE, Route, WebhookSettings
from hermes.channels.webhook.signatures import Signatures
from hermes.channels.webhook.translate import Refusal, inbound_of, verified
from hermes.core.channel import Door, Manifest
from hermes.core.errors import Misconfigured, Rejected, StoreFailed
from hermes.core.messages import Address, Reply

BODY_BYTES_MAX = 1_000_000
BODY_S_MAX = 15.0
CONNECTIONS_MAX = 200
CLOSE_S_MAX = 5
RETRY_S = 5
LOOPBACK = ("127.", "::1", "localhost")

log = logging.getLogger("hermes.channels.webhook")


class WebhookChannel:
    """Both sides of the channel. `port` is where it listens at the moment; 0: it does not."""

    def __init__(self, settings: WebhookSettings, *, body_s_max: float = BODY_S_MAX) -> None:
        self._settings = settings
        self._body_s_max = body_s_max
        self._signatures = Signatures()
        self.port = 0

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    def render(self, text: str) -> Sequence[str]:
        return render(text)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        """The sender of an event has gone; its answer is read in the session."""
        log.debug("%s of %d characters is stored, not sent", reply.id, len(chunk))
        return key

    async def listen(self, door: Door) -> None:
        listener = bound(self._settings.host, self._settings.port)
        server = uvicorn.Server(_config(self._app(door)))
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        try:
            await server.startup(sockets=[listener])
            self.port = listener.getsockname()[1]
            if not self._settings.host.startswith(LOOPBACK):
                log.warning("webhooks are open to the network; put a proxy with TLS before them")
            door.connected()
            await asyncio.get_running_loop().create_future()
        finally:
            self.port = 0
            await server.shutdown(sockets=[listener])

    def _app(self, door: Door) -> Starlette:
        async def event(request: Request) -> Response:
            return await self._event(door, request)

        async def health(_request: Request) -> Response:
            return JSONResponse({"status": "ok"})

        paths = [
            Path("/webhooks/{route}", event, methods=["POST"]),
            Path("/health", health, methods=["GET"]),
        ]
        return Starlette(routes=paths)

    async def _event(self, door: Door, request: Request) -> Response:
        route = self._settings.routes.get(request.path_params["route"])
        if route is None:
            return _refused(Refusal(404, "there is no such route"))
        body = await _body(request, self._body_s_max)
        if isinstance(body, Refusal):
            return _refused(body)
        now = door.clock()
        signed = verified(route, request.headers, body, now=now)
        if isinstance(signed, Refusal):
            log.info("route %s refused an event: %s", route.name, signed.why)
            return _refused(signed)
        if not self._signatures.fits(signed, now):
            return _refused(Refusal(409, "this signature was used for another delivery; sign anew"))
        try:
            address = await _address(door, route)
            accepted = await door.accept(inbound_of(route, signed, body, address=address, at=now))
        except Rejected as rejected:
            return _refused(Refusal(422, str(rejected)))
        except StoreFailed as failed:
            log.warning("route %s could not keep an event: %s", route.name, failed)
            return _refused(Refusal(503, "the event could not be stored; send it again later"))
        if not accepted.fresh:
            return JSONResponse({"status": "duplicate", "session": accepted.key})
        said = {"status": "accepted", "turn": None, "session": accepted.key}
        return JSONResponse(said, status_code=202)


def bound(host: str, port: int) -> socket.socket:
    """Raises Misconfigured when nobody can listen there."""
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


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=CLOSE_S_MAX,
    )


async def _body(request: Request, within_s: float) -> bytes | Refusal:
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_BYTES_MAX:
                    return Refusal(413, f"an event has at most {BODY_BYTES_MAX:,} bytes")
    except TimeoutError:
        return Refusal(408, f"the body took longer than {within_s:g} seconds")
    except ClientDisconnect:
        return Refusal(400, "the body was cut")
    return bytes(body)


async def _address(door: Door, route: Route) -> Address:
    """Where the answer goes. An event is kept even when there is no home to answer to."""
    target: Address | Literal["home"] = route.deliver
    if target != "home":
        return target
    homes = await door.store.library.homes()
    if homes:
        return homes[0].address
    log.warning("route %s answers to the home chat, and there is none; send /sethome", route.name)
    return Address(platform="webhook", chat=route.name)


def _refused(refusal: Refusal) -> Response:
    headers = {"Retry-After": str(RETRY_S)} if refusal.status == 503 else None
    said = {"status": "refused", "why": refusal.why}
    return JSONResponse(said, status_code=refusal.status, headers=headers)
