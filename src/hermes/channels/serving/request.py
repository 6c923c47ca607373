"""A request while it is answered: its head, its body as it comes, and how far the answer is."""

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

from hermes.channels.serving.answer import Lines, lines_of
from hermes.channels.serving.head import Head

AHEAD_BYTES_MAX: Final = 65_536  # of a body that nobody has asked for yet


class Unread(Exception):
    """The body did not come as it should."""


class TooLarge(Unread):
    pass


class TooSlow(Unread):
    pass


class Left(Unread):
    """The client went away, or what it sent is no body."""


class Carrier(Protocol):
    """The connection, as a request sees it."""

    def want(self, request: "Request") -> None:
        """More of the body is welcome."""

    def begin(self, request: "Request", status: int, lines: Lines) -> None:
        """Write the head of an answer in pieces."""

    def write(self, content: bytes) -> None: ...

    async def writable(self) -> None:
        """Until the client has taken most of what was written, or has gone."""

    def finish(self, request: "Request") -> None:
        """The answer is written."""


class Request:
    """`route` and `ids` are known once a path was found, `visitor` once somebody has looked."""

    def __init__(self, head: Head, carrier: Carrier) -> None:
        self.head = head
        self.route = self.visitor = ""
        self.ids: Mapping[str, str] = {}
        self.gone = False  # nobody is there to hear an answer
        self.whole = False  # the body is complete
        self.begun = self.over = False  # the answer is
        self.last = head.last  # the connection ends with it
        self.expects = head.expects  # to be told to go on
        self.pipe: Pipe | None = None
        self._carrier = carrier
        self._come = bytearray()
        self._news: asyncio.Future[None] | None = None

    @property
    def ahead(self) -> int:
        """How many bytes of the body nobody has asked for yet."""
        return len(self._come)

    def open(self, headers: Mapping[str, str], status: int = 200) -> "Pipe":
        """Begin an answer whose body comes in pieces."""
        lines = lines_of(headers)
        self.pipe = Pipe(self, self._carrier)
        self._carrier.begin(self, status, lines)
        return self.pipe

    async def body(self, most: int, within_s: float, discarded: int = 0) -> bytes:
        """All of it. What is longer is read on up to `discarded`, because a client that still
        writes may not see why it is refused. Raises Unread."""
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
        """What of the body has come; nothing at its end. Raises Left."""
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
    """The body of one answer, piece by piece. What is put into it when nobody listens is lost."""

    def __init__(self, request: Request, carrier: Carrier) -> None:
        self._request, self._carrier = request, carrier
        self._chunked = request.head.chunks
        self._mute = request.head.method == "HEAD"
        self._last = _now()

    @property
    def silent_s(self) -> float:
        return _now() - self._last

    async def put(self, piece: bytes) -> None:
        """Waits for a client that does not keep up."""
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
