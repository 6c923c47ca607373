"""A request while it is answered: its head, its body as it arrives, and the state of its answer."""

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

from hermes.httpd.head import RequestHead
from hermes.httpd.response import Lines, lines_of

AHEAD_BYTES_MAX: Final = 65_536  # of a body, buffered ahead of the reader


class Unread(Exception):
    """The body could not be read."""


class TooLarge(Unread):
    pass


class TooSlow(Unread):
    pass


class Left(Unread):
    """The client disconnected, or sent a malformed body."""


class Carrier(Protocol):
    """The connection, as a request sees it."""

    def want(self, request: "HttpRequest") -> None:
        """Ask the client for more of the body."""

    def begin(self, request: "HttpRequest", status: int, lines: Lines) -> None:
        """Write the head of an answer whose body follows in pieces."""

    def write(self, content: bytes) -> None: ...

    async def writable(self) -> None:
        """Wait until the client has read most of what was written, or has disconnected."""

    def finish(self, request: "HttpRequest") -> None:
        """Note that the answer is complete."""


class HttpRequest:
    """One request. `route` and `ids` are set by routing, `visitor` by the origin check."""

    def __init__(self, head: RequestHead, carrier: Carrier) -> None:
        self.head = head
        self.route = self.visitor = ""
        self.ids: Mapping[str, str] = {}
        self.gone = False  # the client has disconnected
        self.whole = False  # the body is complete
        self.begun = self.over = False  # of the answer
        self.last = head.last  # the connection ends with it
        self.expects = head.expects  # to be told to go on
        self.pipe: Pipe | None = None
        self._carrier = carrier
        self._come = bytearray()
        self._news: asyncio.Future[None] | None = None

    @property
    def ahead(self) -> int:
        """Return how many bytes of the body have arrived ahead of the reader."""
        return len(self._come)

    def open(self, headers: Mapping[str, str], status: int = 200) -> "Pipe":
        """Begin an answer whose body comes in pieces."""
        lines = lines_of(headers)
        self.pipe = Pipe(self, self._carrier)
        self._carrier.begin(self, status, lines)
        return self.pipe

    async def body(self, most: int, within_s: float, discarded: int = 0) -> bytes:
        """Return the whole body. A body above `most` is read and dropped up to `discarded`, because
        a client that is still writing may not see why it is refused. Raise Unread."""
        said = self.head.header(b"content-length") or ""
        if said.isdecimal() and int(said) > max(most, discarded):
            raise TooLarge
        try:
            async with asyncio.timeout(within_s):
                return await self._body(most, discarded)
        except TimeoutError as late:
            raise TooSlow from late

    async def _body(self, most: int, discarded: int) -> bytes:
        size, body = 0, bytearray()
        while piece := await self.piece():
            size += len(piece)
            if size <= most:
                body += piece
            elif size > discarded:
                break
        if size > most:
            raise TooLarge
        return bytes(body)

    async def piece(self) -> bytes:
        """Return the next bytes of the body; empty at its end. Raise Left."""
        while not self.gone:
            if self._come:
                piece = bytes(self._come)
                self._come.clear()
                return piece
            if self.whole:
                return b""
            self._carrier.want(self)
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        raise Left

    def take(self, piece: bytes) -> None:
        if not self.over:
            self._come += piece
            self._tell()

    def complete(self) -> None:
        self.whole = True
        self._tell()

    def leave(self) -> None:
        self.gone = True
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class Pipe:
    """The body of one answer, piece by piece. Pieces for a client that has disconnected are
    dropped."""

    def __init__(self, request: HttpRequest, carrier: Carrier) -> None:
        self._request, self._carrier = request, carrier
        self._chunked = request.head.chunks
        self._mute = request.head.method == "HEAD"
        self._last = _now()

    @property
    def silent_s(self) -> float:
        return _now() - self._last

    async def put(self, piece: bytes) -> None:
        """Write a piece, waiting for a client that reads slowly (back-pressure)."""
        self._last = _now()
        await self._carrier.writable()
        self._write(piece)

    def close(self, piece: bytes = b"") -> None:
        if self._request.over:
            return
        self._write(piece)
        if self._chunked and not self._mute and not self._request.gone:
            self._carrier.write(b"0\r\n\r\n")
        self._carrier.finish(self._request)

    def _write(self, piece: bytes) -> None:
        if not piece or self._mute or self._request.gone or self._request.over:
            return
        self._carrier.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)


def _now() -> float:
    return asyncio.get_running_loop().time()
