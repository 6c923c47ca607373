"""One HTTP/1.1 connection: a request in one write, an answer in pieces as they come.

httptools reads, asyncio moves the bytes. A connection serves one exchange at a time.
"""

import asyncio

from hermes.egress.faults import Broken, Closed, Stuck
from hermes.egress.response import UNREAD_BYTES_MAX, Response


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
