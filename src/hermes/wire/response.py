"""Parse an HTTP response as it arrives: its head, then its body in pieces (httptools). No I/O."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

import httptools

from hermes.wire.faults import Broken, FetchClosed, HttpFailed

HEAD_BYTES_MAX: Final = 64 * 1024  # its trailers and the sizes of chunks count too
FRAME_BYTES_MAX: Final = 16  # beside each byte of a body: a chunk of one byte takes five
UNREAD_BYTES_MAX: Final = 256 * 1024  # then the server has to wait


class Response:
    """The response to one request. Iterate over it to get the body in pieces."""

    def __init__(self, go_on: Callable[[], None]) -> None:
        self.status = 0  # until the head is there
        self.headers: dict[str, str] = {}  # names in lower case; of several the first
        self.whole = False
        self.keeps_open = False
        self.unread = 0
        self._go_on = go_on
        self._framed = 0  # bytes that came and are no body
        self._body = 0
        self._pieces: list[bytes] = []
        self._failure: HttpFailed | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(  # they frame nothing anew: one answer, then the end
            lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    @property
    def encoding(self) -> str:
        """Return the content-encoding of the body. Requests ask for none, and none is decoded
        here."""
        said = self.headers.get("content-encoding", "").strip().lower()
        return "" if said == "identity" else said

    @property
    def is_over(self) -> bool:
        """Return True if the response is complete and its connection can be reused."""
        return self.whole and self.keeps_open and self.unread <= UNREAD_BYTES_MAX

    def feed(self, data: bytes) -> None:
        """Parse received bytes. Raise Broken for what is not valid HTTP."""
        if self._parser is None:
            raise Broken("the server sent data after its answer")
        self._framed += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as wrong:
            raise Broken(f"not HTTP: {wrong}") from wrong
        if self._framed - self._body > HEAD_BYTES_MAX + FRAME_BYTES_MAX * self._body:
            raise Broken(f"a head of more than {HEAD_BYTES_MAX} bytes")
        self.wake()

    def end(self, cause: Exception | None) -> None:
        """Note that the connection has ended. A body without length and chunks ends this way."""
        self._parser = None  # it holds us, and we held it
        self.wake()
        if self.whole or self._failure is not None:
            return
        chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        if cause is None and self.status and not chunked and "content-length" not in self.headers:
            self.whole = True
        elif isinstance(cause, HttpFailed):
            self._failure = cause
        else:
            why = f"the connection ended: {cause}" if cause else "the server closed the connection"
            self._failure = Broken(why) if self._framed else FetchClosed(why)

    def wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def news(self) -> None:
        """Wait until more has arrived, or the response has ended."""
        if self._failure is not None:
            raise self._failure
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._pieces:
            if self.whole:
                raise StopAsyncIteration
            await self.news()
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        if self.unread > UNREAD_BYTES_MAX:
            self._go_on()
        self.unread = 0
        return piece

    # what the parser calls

    def on_message_begin(self) -> None:
        if self.whole:
            raise Broken("the server sent data after its answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.status:  # what comes after the head is a trailer
            self.headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
        else:  # only a word on the way
            self.headers.clear()

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._body += len(body)
        self.unread += len(body)

    def on_message_complete(self) -> None:
        if self.status:
            assert self._parser is not None
            self.whole = True
            self.keeps_open = self._parser.should_keep_alive()
