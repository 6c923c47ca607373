"""HTTP/1.1 to one server: its connections, and what every request to it carries.

A connection is kept for the next exchange when its answer was read to the end. What an answer
means is the wire's business.
"""

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Final

from hermes.egress.faults import Closed, Unsendable
from hermes.egress.line import Line
from hermes.egress.origin import BadURL, Origin, origin, target
from hermes.egress.response import Response
from hermes.egress.trust import trusted
from hermes.providers.dial import dial
from hermes.providers.route import Proxy, proxy_for

CONNECTIONS_IDLE_MAX: Final = 64
CONNECTION_IDLE_S: Final = 60.0
_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


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
