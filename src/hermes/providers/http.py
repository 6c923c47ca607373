"""HTTP/1.1 to one server: a request in one write, an answer in pieces as they come.

httptools reads, asyncio moves the bytes. A connection serves one exchange at a time and is kept
for the next one when its answer was read to the end. What an answer means is the wire's business.
"""

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Final

from hermes.providers.dial import dial, trusted
from hermes.providers.faults import Broken, Closed, Stuck, Unsendable
from hermes.providers.response import UNREAD_BYTES_MAX, Response
from hermes.providers.route import BadURL, Origin, Proxy, origin, proxy_for, target

CONNECTIONS_IDLE_MAX: Final = 64
CONNECTION_IDLE_S: Final = 60.0
_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class Line(asyncio.Protocol):
    """A connection, and the answer that is being read from it."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None  # none: not connected, or no more
        self._response: Response | None = None
        self._full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._transport is None:
            self.abort()  # nobody asked
            return
        try:
            self._response.feed(data)
        except Broken as broken:
            self._response.keeps_open = False
            self.abort(broken)
        else:
            if self._response.unread > UNREAD_BYTES_MAX:
                self._transport.pause_reading()

    def eof_received(self) -> None:
        if self._transport is not None:
            self._transport.abort()  # a server that hears no more is told no more
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._response is not None:
            self._response.wake()

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    def abort(self, why: Broken | None = None) -> None:
        """At once: what has not left yet does not leave."""
        if self._transport is not None:
            self._transport.abort()
        self._end(why or Broken("the connection is closed"))

    def rest(self) -> bool:
        """The exchange is over; may there be another?"""
        response, self._response = self._response, None
        clean = response is not None and response.is_over and not self._full
        if not clean:
            self.abort()
        if response is not None:
            response.end(Broken("the exchange is over"))
        return self.is_open

    async def ask(self, request: bytes, write_s: float) -> Response:
        """Until the head of the response is there. What does not end well closes the connection."""
        if self._transport is None:
            raise Closed("the connection is closed")
        response = self._response = Response(self._transport.resume_reading)
        self._transport.write(request)
        begun = False
        try:
            while not response.status:
                if self._full:
                    async with asyncio.timeout(write_s):
                        await response.news()
                else:
                    await response.news()
            begun = True
        except TimeoutError as late:
            raise Stuck(f"not within {write_s:g} s") from late
        finally:
            if not begun:
                self.abort()
        return response

    def _end(self, cause: Exception | None) -> None:
        self._transport = None
        if self._response is not None:
            self._response.end(cause)


class Client:
    """One server, and the connections to it. `proxies` is what the environment says of them."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        proxies: Mapping[str, str],
        connect_s: float,
        write_s: float,
        idle_s: float = CONNECTION_IDLE_S,
    ) -> None:
        """Raises Unsendable."""
        try:
            self._server: Origin = origin(url)
            self._proxy: Proxy | None = proxy_for(self._server, proxies)
        except BadURL as bad:
            raise Unsendable(str(bad)) from bad
        self._url = url.rstrip("/")
        self._fields = _fields(self._server, self._proxy, headers)
        self._connect_s = connect_s
        self._write_s = write_s
        self._idle_s = idle_s
        self._trust: ssl.SSLContext | None = None
        self._idle: list[Line] = []
        self._sweep: asyncio.TimerHandle | None = None

    @contextlib.asynccontextmanager
    async def exchange(self, method: str, path: str, body: bytes = b"") -> AsyncIterator[Response]:
        """The connection is kept if the answer was read to its end, and closed at once if not."""
        line, response = await self._asked(self._head(method, path, len(body)) + body)
        try:
            yield response
        finally:
            self._keep(line)

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for line in idle:
            line.abort()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    async def _asked(self, request: bytes) -> tuple[Line, Response]:
        """Again where a kept connection was closed before a byte came: it may have been closing
        when the request left. A new one that does so is an error, and so is a second time."""
        kept = self._kept()
        if kept is not None:
            with contextlib.suppress(Closed):
                return kept, await kept.ask(request, self._write_s)
        line = Line()
        await dial(self._server, self._proxy, self._trusted(), lambda: line, self._connect_s)
        return line, await line.ask(request, self._write_s)

    def _head(self, method: str, path: str, length: int) -> bytes:
        where = target(self._url + path)
        if self._proxy is not None and not self._server.secure:
            where = f"http://{self._server.authority}{where}"
        size = f"content-length: {length}\r\n" if method == "POST" else ""
        return f"{method} {where} HTTP/1.1\r\n{self._fields}{size}\r\n".encode("latin-1")

    def _trusted(self) -> ssl.SSLContext | None:
        """Certificates are read for TLS only, and once: they cost 30 ms."""
        proxied = self._proxy is not None and self._proxy.origin.secure
        if self._trust is None and (self._server.secure or proxied):
            self._trust = trusted()
        return self._trust

    def _kept(self) -> Line | None:
        """The last used one that is still open."""
        while self._idle:
            line = self._idle.pop()
            if line.is_open:
                return line
        return None

    def _keep(self, line: Line) -> None:
        if not line.rest():
            return
        if len(self._idle) >= CONNECTIONS_IDLE_MAX:
            line.abort()
            return
        loop = asyncio.get_running_loop()
        line.idle_since = loop.time()
        self._idle.append(line)
        if self._sweep is None:
            self._sweep = loop.call_later(self._idle_s, self._swept)

    def _swept(self) -> None:
        """Close what nobody used for a while. The oldest come first."""
        loop = asyncio.get_running_loop()
        self._sweep = None
        old = loop.time() - self._idle_s
        for line in self._idle:
            if line.idle_since <= old:
                line.abort()
        self._idle = [line for line in self._idle if line.is_open]
        if self._idle:
            self._sweep = loop.call_at(self._idle[0].idle_since + self._idle_s, self._swept)


def _fields(server: Origin, proxy: Proxy | None, headers: Mapping[str, str]) -> str:
    """The headers that every request carries. A line break in one would make two of it."""
    given = {"host": server.authority, "accept": "*/*", "accept-encoding": "identity"}
    if proxy is not None and proxy.authorization and not server.secure:
        given["proxy-authorization"] = proxy.authorization
    given |= {name.lower(): value for name, value in headers.items()}
    for name, value in given.items():
        if name in _FRAMING or not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise Unsendable(f"“{ascii(name)[1:-1]}” is no header that can be sent")
    return "".join(f"{name}: {value.strip()}\r\n" for name, value in given.items())
