"""A channel's HTTP server: uvicorn's, with a limit on all that a stranger can make it hold.

uvicorn bounds neither the head of a request nor the time that it takes, nor how long the rest of
a refused body may dribble in.
"""

import asyncio
import resource
from typing import Final

import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hermes.channels.reach import Reach

HEAD_BYTES_MAX: Final = 32_768
HEADERS_MAX: Final = 100
HEAD_S: Final = 10.0  # from the first byte, or the connection, to the end of the head
LINGER_S: Final = 5.0  # for the rest of a body that nobody wants
CLOSE_S_MAX: Final = 5
CONNECTIONS_MIN: Final = 32
FILES_KEPT: Final = 256
_WORDS: Final = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class TooLong(ValueError):
    """The head of a request is."""


class Line(HttpToolsProtocol):
    """One connection. `idle_since` has a value as long as it waits for the head of a request."""

    idle_since: float | None = None
    _timer: asyncio.TimerHandle | None = None
    _raw = 0  # bytes while there is no whole head
    _fields = 0  # bytes of the parts of the head
    _too_long = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.idle_since = self.loop.time()
        self._due(HEAD_S)
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._undue()
        self.idle_since = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.idle_since is not None:
            self._raw += len(data)
        super().data_received(data)
        if self.idle_since is None or self.transport.is_closing():
            return
        if self._raw > HEAD_BYTES_MAX:
            self._refuse(431)
        elif self._timer is None:
            self._due(HEAD_S)

    def on_message_begin(self) -> None:
        self._fields = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.idle_since, self._raw = None, 0
        self._undue()
        if (authority := authority_of(self.url)) is not None:
            self.headers.append((b"host", authority))
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self.cycle.response_complete:
            self._undue()
            self.idle_since = self.loop.time()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.cycle.response_complete:
            return  # the next request is here already
        if self.cycle.more_body:
            self._due(LINGER_S)
        else:
            self.idle_since = self.loop.time()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 (the parser's words help nobody)
        self._refuse(431 if self._too_long else 400)

    def _unsupported_upgrade_warning(self) -> None:
        """It is answered like any other request; the log need not hear of it."""

    def _count(self, size: int) -> None:
        self._fields += size
        if self._fields > HEAD_BYTES_MAX or len(self.headers) >= HEADERS_MAX:
            self._too_long = True
            raise TooLong

    def _due(self, seconds: float) -> None:
        self._undue()
        self._timer = self.loop.call_later(seconds, self._over)

    def _undue(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self) -> None:
        self._timer = None
        if self._raw:
            self._refuse(408)
        else:
            self.transport.close()

    def _refuse(self, status: int) -> None:
        if self.transport.is_closing():
            return
        fault = {"message": f"{_WORDS[status]}.", "type": "invalid_request_error", "code": None}
        body = msgspec.json.encode({"error": fault})
        head = f"HTTP/1.1 {status} {_WORDS[status]}\r\ncontent-type: application/json\r\n"
        size = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(f"{head}{size}".encode() + body)
        self.transport.close()

    def _make_room(self) -> None:
        """When all places are taken, the one who has said nothing for longest gives up his."""
        if self.limit_concurrency is None or len(self.connections) < self.limit_concurrency:
            return
        waiting = [
            (line.idle_since, id(line), line)
            for line in self.connections
            if isinstance(line, Line) and line is not self and line.idle_since is not None
        ]
        if waiting:
            line = min(waiting)[2]
            line.idle_since = None
            line.transport.abort()


def authority_of(url: bytes) -> bytes | None:
    """Whom a request line itself names (`GET http://host/path`); that counts like a Host header."""
    if url.startswith(b"/") or b"://" not in url:
        return None
    rest = url.partition(b"://")[2]
    for end in b"/?#":
        rest = rest.partition(bytes((end,)))[0]
    return rest


def server_config(
    app: ASGIApp, reach: Reach, *, connections_max: int, keep_alive_s: int, backlog: int
) -> uvicorn.Config:
    """Some of the files that we may open are for others: the journal, commands, the model."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = connections_max if files == resource.RLIM_INFINITY else files - FILES_KEPT
    tls = reach.tls
    return uvicorn.Config(
        app,
        http=Line,
        ws="none",
        loop="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        backlog=backlog,
        timeout_keep_alive=keep_alive_s,
        timeout_graceful_shutdown=CLOSE_S_MAX,
        limit_concurrency=max(CONNECTIONS_MIN, min(connections_max, room)),
        ssl_certfile=tls.certificate_file if tls else None,
        ssl_keyfile=(tls.key_file or None) if tls else None,
    )
