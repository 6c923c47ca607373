"""One HTTP/1.1 connection: a request in one write, a response in pieces as they arrive.

httptools parses, asyncio moves the bytes. A connection serves one exchange at a time.
"""

import asyncio
from collections.abc import Iterable

from hermes.wire.faults import Broken, FetchClosed, Stuck
from hermes.wire.response import UNREAD_BYTES_MAX, Response


class FetchConnection(asyncio.Protocol):
    """A connection, and the response that is being read from it."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None  # none: not connected, or no more
        self._response: Response | None = None
        self._full = False
        self._cut = False  # an answer came before all of the request had left

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._transport is None:
            self.abort()  # no request is open
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
        """Close the connection at once and drop unsent bytes."""
        if self._transport is not None:
            self._transport.abort()
        self._end(why or Broken("the connection is closed"))

    def rest(self) -> bool:
        """End the exchange. Return True if the connection can serve another one; else close it."""
        response, self._response = self._response, None
        clean = response is not None and response.is_over and not self._full and not self._cut
        if not clean:
            self.abort()
        if response is not None:
            response.end(Broken("the exchange is over"))
        return self.is_open

    async def ask(
        self, request: bytes, write_s: float, body: Iterable[bytes | memoryview] = ()
    ) -> Response:
        """Send a request and return when the head of the response is there. Any failure closes the
        connection.

        `body` is sent in pieces, no faster than the server reads them (back-pressure). If the
        server answers early, the rest of it is not sent.
        """
        if self._transport is None:
            raise FetchClosed("the connection is closed")
        response = self._response = Response(self._transport.resume_reading)
        self._transport.write(request)
        begun = False
        try:
            for piece in body:
                while not response.status and (self._full or self._transport is None):
                    await self._news(response, write_s)
                if response.status or self._transport is None:
                    self._cut = True
                    break
                self._transport.write(piece)
            while not response.status:
                await self._news(response, write_s)
            begun = True
        except TimeoutError as late:
            raise Stuck(f"not within {write_s:g} s") from late
        finally:
            if not begun:
                self.abort()
        return response

    async def _news(self, response: Response, write_s: float) -> None:
        if not self._full:
            await response.news()
            return
        async with asyncio.timeout(write_s):
            await response.news()

    def _end(self, cause: Exception | None) -> None:
        self._transport = None
        if self._response is not None:
            self._response.end(cause)
