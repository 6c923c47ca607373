"""Open a WebSocket to a server that the owner named, through the same dialler as HTTP.

`websockets` handles the frames; socket, TLS and proxy are ours, so one set of rules covers all
connections. Import this file only where a WebSocket is needed: the library costs 0.1 s and 8 MB.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Final

from msgspec import Struct
from websockets.asyncio.client import ClientConnection
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.uri import parse_uri

from hermes.wire.dial import dial
from hermes.wire.faults import Broken, ConnectLate, HandshakeRefused, SocketClosed, Unsendable
from hermes.wire.http import checked_headers
from hermes.wire.origin import BadURL, http_url, origin
from hermes.wire.route import proxy_for
from hermes.wire.trust import trusted

ABNORMAL: Final = 1006  # RFC 6455: the connection ended without a word
UNHEARD: Final = "the server stopped answering pings"
_silent: Final = logging.getLogger("hermes.wire.websocket")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False  # the library's own words may hold what was received


class SocketLimits(Struct, frozen=True, kw_only=True):
    open_s: float = 15.0  # for connecting, TLS, the proxy and the handshake together
    ping_s: float | None = 20.0  # between two pings; None: the platform has a heartbeat of its own
    pong_s: float = 20.0  # a connection that leaves a ping unanswered for longer is dead
    close_s: float = 2.0  # for the server's part of a close
    message_bytes: int = 16 * 1024 * 1024  # a longer one closes the connection with 1009
    queue: int = 16  # messages that are held unread; then the server has to wait


class _Connection(ClientConnection):
    """A connection with a time limit for closing: a server that keeps its side open after the close
    handshake is cut off."""

    ending = False

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.ending and self.protocol.close_expected():
            self.ending = True
            self.loop.call_later(self.close_timeout or 0.0, self.transport.abort)


class WebSocket:
    """One open connection. One task reads it at a time."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def receive(self) -> str | bytes:
        """Return the next message. Raise SocketClosed when the connection has ended. Cancelling is
        safe."""
        try:
            return await self._connection.recv()
        except ConnectionClosed as closed:
            raise self._socket_closed(closed) from closed

    async def send(self, message: str | bytes) -> None:
        """Send a message, waiting while the server does not read (back-pressure). Raise
        SocketClosed; the message may have arrived then."""
        try:
            await self._connection.send(message)
        except ConnectionClosed as closed:
            raise self._socket_closed(closed) from closed

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Do the close handshake, waiting at most `close_s` for the server's part."""
        await self._connection.close(code, reason)

    def _socket_closed(self, closed: ConnectionClosed) -> SocketClosed:
        if closed.rcvd is not None:
            return SocketClosed(closed.rcvd.code, closed.rcvd.reason)
        if closed.sent is not None and closed.sent.reason == "keepalive ping timeout":
            return SocketClosed(ABNORMAL, UNHEARD)
        if closed.sent is not None:  # what the server sent was wrong, and we said so
            return SocketClosed(closed.sent.code, closed.sent.reason)
        return SocketClosed(ABNORMAL, "")


@contextlib.asynccontextmanager
async def websocket(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    proxies: Mapping[str, str],
    limits: SocketLimits | None = None,
) -> AsyncIterator[WebSocket]:
    """Open ws:// or wss://, and close it at the end of the block. A redirect is not followed: it
    would send the key to another server. Raise HttpFailed."""
    limits = limits or SocketLimits()
    connection = await _open(url, dict(headers or {}), proxies, limits)
    try:
        yield WebSocket(connection)
    finally:
        await _end(connection, limits.close_s)


async def _open(
    url: str, headers: Mapping[str, str], proxies: Mapping[str, str], limits: SocketLimits
) -> ClientConnection:
    try:
        server = origin(http_url(url))
        proxy = proxy_for(server, proxies)
        uri = parse_uri(url)
    except (BadURL, InvalidURI) as bad:
        why = str(bad) if isinstance(bad, BadURL) else "not a WebSocket's URL"
        raise Unsendable(why) from bad
    checked_headers(headers)
    trust = trusted() if server.secure or (proxy is not None and proxy.origin.secure) else None
    protocol = ClientProtocol(uri, max_size=limits.message_bytes, logger=_silent)
    connection = _Connection(
        protocol,
        ping_interval=limits.ping_s,
        ping_timeout=limits.pong_s,
        close_timeout=limits.close_s,
        max_queue=limits.queue,
    )
    try:
        async with asyncio.timeout(limits.open_s):
            await dial(server, proxy, trust, lambda: connection, limits.open_s, tunnel=True)
            await _shake_hands(connection, headers)
    except TimeoutError as late:
        raise ConnectLate(f"no WebSocket within {limits.open_s:g} s") from late
    connection.start_keepalive()
    return connection


async def _shake_hands(connection: ClientConnection, headers: Mapping[str, str]) -> None:
    agreed = False
    try:
        await connection.handshake(dict(headers), user_agent_header=None)
        agreed = True
    except InvalidStatus as refused:
        answer = refused.response
        said = {name.lower(): value for name, value in answer.headers.raw_items()}
        raise HandshakeRefused(answer.status_code, said) from refused
    except (InvalidHandshake, ConnectionClosed, EOFError) as broken:
        raise Broken(f"the server speaks no WebSocket ({broken})") from broken
    finally:
        if not agreed:
            connection.transport.abort()


async def _end(connection: ClientConnection, limit_s: float) -> None:
    """Close the connection within the limit, also when the server is gone."""
    try:
        async with asyncio.timeout(limit_s):
            await connection.close()
    except TimeoutError:
        pass
    finally:
        connection.transport.abort()
