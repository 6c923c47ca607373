"""An HTTP/1.1 client for one server: its connection pool, and the headers of every request.

A connection is reused when its last response was read to the end. The caller interprets responses.
"""

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hermes.wire.body import Limited, body_of
from hermes.wire.dial import dial
from hermes.wire.faults import FetchClosed, Stuck, TooMuch, Unsendable
from hermes.wire.line import FetchConnection
from hermes.wire.origin import BadURL, UrlOrigin, origin, target
from hermes.wire.response import Response
from hermes.wire.route import Proxy, proxy_for
from hermes.wire.trust import trusted

CONNECTIONS_IDLE_MAX: Final = 64
CONNECTION_IDLE_S: Final = 60.0
PIECE_BYTES: Final = 64 * 1024  # a body that is longer leaves in such pieces
IDEMPOTENT: Final = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_BODILESS: Final = frozenset({"GET", "HEAD"})
_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


Body = bytes | Sequence[bytes]  # several pieces are one body


class HttpAnswer(Struct, frozen=True):
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]  # names in lower case; of several the first
    body: bytes


class Client:
    """A client for one server, with its connection pool. `proxies` are the environment's proxy
    settings."""

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
        """Prepare a client; connections are opened by requests. Raise Unsendable for a wrong URL or
        header."""
        try:
            self._server: UrlOrigin = origin(url)
            self._proxy: Proxy | None = proxy_for(self._server, proxies)
        except BadURL as bad:
            raise Unsendable(str(bad)) from bad
        self._url = url.rstrip("/")
        self._headers = dict(headers)
        self._fields = _fields(self._server, self._proxy, headers)
        self._connect_s = connect_s
        self._write_s = write_s
        self._idle_s = idle_s
        self._trust: ssl.SSLContext | None = None
        self._idle: list[FetchConnection] = []
        self._sweep: asyncio.TimerHandle | None = None

    @contextlib.asynccontextmanager
    async def exchange(
        self,
        method: str,
        path: str,
        body: Body = b"",
        *,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
    ) -> AsyncIterator[Response]:
        """Send a request and yield the response. The connection is reused if the response was read
        to its end, else closed at once.

        A pooled connection may be closing while the request leaves. A `repeatable` request is then
        sent once more on a new connection; any other raises FetchClosed, and the caller decides.
        """
        pieces = (body,) if isinstance(body, bytes) else body
        size = sum(len(piece) for piece in pieces)
        request = self._head(method, path, size, headers)
        if size <= PIECE_BYTES:
            request, pieces = b"".join((request, *pieces)), ()
        line, response = await self._send(request, pieces, repeatable)
        try:
            yield response
        finally:
            self._keep(line)

    async def request(
        self,
        method: str,
        path: str,
        body: Body = b"",
        *,
        headers: Mapping[str, str] | None = None,
        limit_s: float,
        bytes_max: int,
    ) -> HttpAnswer:
        """Send a request and return the whole response, within a time and a size. Raise HttpFailed.
        Only an idempotent request is sent a second time (RFC 9110, 9.2.2)."""
        again = method in IDEMPOTENT
        try:
            async with (
                asyncio.timeout(limit_s) as limit,
                self.exchange(method, path, body, headers=headers, repeatable=again) as response,
            ):
                said = await body_of(response, bytes_max)
                return HttpAnswer(response.status, response.headers, said)
        except TimeoutError as late:
            if not limit.expired():
                raise
            raise TooMuch(f"it took longer than {limit_s:g} s") from late

    @contextlib.asynccontextmanager
    async def download(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        bytes_max: int,
        silence_s: float,
    ) -> AsyncIterator[tuple[int, Limited]]:
        """Send a GET; yield its status, and its body in pieces. Raise TooMuch beyond `bytes_max`,
        and Stuck when the server is silent for longer than `silence_s`."""
        async with contextlib.AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(silence_s):
                    asked = self.exchange("GET", path, headers=headers)
                    response = await stack.enter_async_context(asked)
            except TimeoutError as late:
                raise Stuck(f"no answer within {silence_s:g} s") from late
            yield response.status, Limited(response, bytes_max, silence_s)

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for line in idle:
            line.abort()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    async def _send(
        self, request: bytes, body: Iterable[bytes], repeatable: bool
    ) -> tuple[FetchConnection, Response]:
        """Send a request on a pooled connection or a new one. A repeatable request is sent again
        when the pooled connection closed before the first byte: it may have been closing when the
        request left. A new connection that closes so is an error."""
        kept = self._take_idle()
        if kept is not None:
            try:
                return kept, await kept.ask(request, self._write_s, _in_pieces(body))
            except FetchClosed:
                if not repeatable:
                    raise
        line = FetchConnection()
        await dial(self._server, self._proxy, self._trusted(), lambda: line, self._connect_s)
        return line, await line.ask(request, self._write_s, _in_pieces(body))

    def _head(
        self, method: str, path: str, length: int, headers: Mapping[str, str] | None
    ) -> bytes:
        where = target(self._url + path)
        if self._proxy is not None and not self._server.secure:
            where = f"http://{self._server.authority}{where}"
        size = "" if method in _BODILESS and not length else f"content-length: {length}\r\n"
        fields = self._fields
        if headers:
            fields = _fields(self._server, self._proxy, _merge(self._headers, headers))
        return f"{method} {where} HTTP/1.1\r\n{fields}{size}\r\n".encode("latin-1")

    def _trusted(self) -> ssl.SSLContext | None:
        """Return the TLS context, if TLS is used. Certificates are read once, because that takes 30
        ms."""
        proxied = self._proxy is not None and self._proxy.origin.secure
        if self._trust is None and (self._server.secure or proxied):
            self._trust = trusted()
        return self._trust

    def _take_idle(self) -> FetchConnection | None:
        """Return the most recently used connection that is still open."""
        while self._idle:
            line = self._idle.pop()
            if line.is_open:
                return line
        return None

    def _keep(self, line: FetchConnection) -> None:
        if not line.rest():
            return
        if len(self._idle) >= CONNECTIONS_IDLE_MAX:
            line.abort()
            return
        loop = asyncio.get_running_loop()
        line.idle_since = loop.time()
        self._idle.append(line)
        if self._sweep is None:
            self._sweep = loop.call_later(self._idle_s, self._sweep_idle)

    def _sweep_idle(self) -> None:
        """Close connections that were idle for too long, oldest first."""
        loop = asyncio.get_running_loop()
        self._sweep = None
        old = loop.time() - self._idle_s
        for line in self._idle:
            if line.idle_since <= old:
                line.abort()
        self._idle = [line for line in self._idle if line.is_open]
        if self._idle:
            self._sweep = loop.call_at(self._idle[0].idle_since + self._idle_s, self._sweep_idle)


def _in_pieces(body: Iterable[bytes]) -> Iterable[bytes | memoryview]:
    for part in body:
        if len(part) <= PIECE_BYTES:
            yield part
        else:
            view = memoryview(part)
            for start in range(0, len(part), PIECE_BYTES):
                yield view[start : start + PIECE_BYTES]


def _merge(usual: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """Return both sets of headers as one. Headers of the request win, whatever their case."""
    return {name.lower(): value for name, value in (*usual.items(), *own.items())}


def _fields(server: UrlOrigin, proxy: Proxy | None, headers: Mapping[str, str]) -> str:
    """Return the header lines that every request carries. Raise Unsendable for a line break in one
    (header injection)."""
    given = {"host": server.authority, "accept": "*/*", "accept-encoding": "identity"}
    if proxy is not None and proxy.authorization and not server.secure:
        given["proxy-authorization"] = proxy.authorization
    given |= {name.lower(): value for name, value in headers.items()}
    checked_headers(given)
    return "".join(f"{name}: {value.strip()}\r\n" for name, value in given.items())


def checked_headers(headers: Mapping[str, str]) -> None:
    """Raise Unsendable for a header that would inject another one or change how the message is
    framed."""
    for name, value in headers.items():
        framing = name.lower() in _FRAMING
        if framing or not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise Unsendable(f"“{ascii(name)[1:-1]}” cannot be sent as a header")
