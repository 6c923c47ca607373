"""One client connection: requests are answered in order, and every wait has a limit."""

import asyncio
import logging
from collections import deque
from typing import Final, Literal

from msgspec import Struct

from hermes.httpd.alarm import Alarm
from hermes.httpd.connections import Connections
from hermes.httpd.head import Ends, RequestHead
from hermes.httpd.outlet import STUCK_S, Outlet
from hermes.httpd.parser import Malformed, RequestParser
from hermes.httpd.request import AHEAD_BYTES_MAX, HttpRequest
from hermes.httpd.response import head_bytes, refusal
from hermes.httpd.response_writer import ResponseWriter
from hermes.httpd.site import Site

HEAD_S: Final = 10.0  # from the first byte, or the connection, to the end of the head
LINGER_S: Final = 5.0  # for the rest of a body that is dropped
PIECE_BYTES: Final = 16_384  # parsed at a time: bounds the requests that wait behind another
_SLOW: Final = 408

log = logging.getLogger("hermes.channels.serving")


class ConnectionTimeouts(Struct, frozen=True):
    """How long the server waits for a client, in seconds."""

    keep_alive_s: float
    head_s: float = HEAD_S
    linger_s: float = LINGER_S
    stuck_s: float = STUCK_S


class HttpConnection(asyncio.Protocol):
    """The protocol of one connection. `idle_since` has a value while the connection may be closed
    for a newer one."""

    def __init__(self, site: Site, crowd: Connections, patience: ConnectionTimeouts) -> None:
        self.idle_since: float | None = None
        self._site, self._crowd, self._patience = site, crowd, patience
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm(self._late)
        self._unread: bytes | memoryview = b""  # received, not parsed yet
        self._current: HttpRequest | None = None  # is being answered
        self._newest: HttpRequest | None = None  # its body is being received
        self._waiting: deque[HttpRequest] = deque()
        self._malformed = 0  # the status that refuses malformed input, sent in its turn
        self._deaf = False  # further input is ignored
        self._paused = False
        self._rests = False  # between two requests

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._outlet = transport, Outlet(transport, self._patience.stuck_s)
        self._answers = ResponseWriter(
            self._site, self._crowd, self._outlet, listen=self._listen, finish=self._finish
        )
        self._parser = RequestParser(self, _ends(transport))
        self.idle_since = self._loop.time()
        self._alarm.set(self._patience.head_s)
        self._crowd.enter(self)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        if self._rests:
            self._rests = False
            self._alarm.clear()
        self._unread = memoryview(bytes(self._unread) + data) if self._unread else data
        self._read()
        if self.idle_since is not None and not self._alarm.is_set:
            self._alarm.set(self._patience.head_s)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Release everything that refers to this connection, so that it is freed without the
        garbage collector."""
        self._crowd.leave(self)
        self._alarm.end()
        self.idle_since, self._deaf, self._unread = None, True, b""
        for request in (self._current, self._newest, *self._waiting):
            if request is not None:
                request.leave()
        self._waiting.clear()
        self._current = self._newest = None
        self._outlet.end()
        self._parser.end()
        del self._parser, self._answers

    def pause_writing(self) -> None:
        self._outlet.pause()

    def resume_writing(self) -> None:
        self._outlet.resume()
        if self._current is None:
            self._next()

    def abort(self) -> None:
        self._transport.abort()

    def retire(self) -> None:
        self._waiting.clear()
        if self._current is None:
            self._end()
        else:
            self._current.last = True

    def on_request(self, head: RequestHead) -> HttpRequest:
        self.idle_since = None
        self._alarm.clear()
        request = self._newest = HttpRequest(head, self._answers)
        if self._current is None and not self._outlet.is_full:
            self._start(request)
        else:
            self._waiting.append(request)
        return request

    def on_request_end(self) -> None:
        if self._newest is not None and self._newest.over:
            self._rest()

    def _start(self, request: HttpRequest) -> None:
        self._current = request
        self._answers.start(request)

    def _finish(self, request: HttpRequest) -> None:
        """Note that a request has its answer; then close, start the next one, or read the rest of
        the body."""
        request.over, self._current = True, None
        if request.gone or self._outlet.is_closing:
            return
        if request.last:
            self._end(linger=not request.whole)
        elif request.whole:
            self._next()
        else:
            self._alarm.set(self._patience.linger_s)
            self._listen()

    def _read(self) -> None:
        """Parse what has arrived, unless a request already waits behind the current one."""
        while self._unread and not self._waiting and not self._deaf:
            piece, self._unread = self._unread, b""
            if len(piece) > PIECE_BYTES:
                whole = memoryview(piece)
                piece, self._unread = whole[:PIECE_BYTES], whole[PIECE_BYTES:]
            try:
                self._parser.feed(piece)
            except Malformed as malformed:
                log.debug("refused", exc_info=malformed)
                self._refuse(malformed.status)
            self._deaf = self._deaf or self._parser.over
        self._listen()

    def _listen(self) -> None:
        """Pause or resume reading from the socket (back-pressure)."""
        newest = self._newest
        ahead = newest is not None and not newest.over and newest.ahead > AHEAD_BYTES_MAX
        enough = not self._deaf and bool(self._unread or self._waiting or ahead)
        if enough != self._paused and not self._outlet.is_closing:
            self._paused = enough
            (self._transport.pause_reading if enough else self._transport.resume_reading)()

    def _next(self) -> None:
        """Start the next request once the last answer is written and the client has read most of
        it."""
        newest = self._newest
        lingers = newest is not None and newest.over and not newest.whole
        if self._outlet.is_full or self._outlet.is_closing or lingers:
            return
        if self._waiting:
            self._start(self._waiting.popleft())
        if self._unread or self._paused:
            self._read()
        if self._current is not None:
            return
        if self._malformed:
            self._say(self._malformed)
        elif not self._deaf:
            self._rest()

    def _rest(self) -> None:
        """Wait for the next request, whose head may have arrived in part."""
        self.idle_since = self._loop.time()
        self._rests = not self._parser.is_amid_head
        self._alarm.set(self._patience.keep_alive_s if self._rests else self._patience.head_s)
        if self._paused:
            self._listen()

    def _refuse(self, status: int) -> None:
        """Refuse malformed input. Requests before it still get their answers."""
        self._malformed, self._deaf = status, True
        newest = self._newest
        if newest is not None and not newest.whole:
            newest.leave()
            if newest in self._waiting:
                self._waiting.remove(newest)
            elif newest is self._current:
                self._current = None
                if newest.begun:
                    self._end()
        if self._current is None and not self._waiting and not self._outlet.is_closing:
            self._say(status)

    def _say(self, status: int) -> None:
        self._malformed = 0
        answer = refusal(status)
        self._outlet.write(head_bytes(status, answer.lines()) + answer.body)
        self._end(linger=status != _SLOW)

    def _end(self, *, linger: bool = False) -> None:
        """Close the connection. With `linger`, a client that is still writing can read the answer
        before the connection is reset."""
        self._deaf, self._unread = True, b""
        if linger:
            self._outlet.say_goodbye()
            self.idle_since = self._loop.time()
            self._alarm.set(self._patience.linger_s)
            self._listen()
        else:
            self._alarm.clear()
            self._outlet.shut()

    def _late(self) -> None:
        if self.idle_since is not None and not self._deaf and self._parser.is_amid_head:
            self._say(_SLOW)
        else:
            self._end()


def _ends(transport: asyncio.Transport) -> Ends:
    peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    scheme: Literal["http", "https"] = "http"
    if transport.get_extra_info("sslcontext") is not None:
        scheme = "https"
    return Ends(str(peer[0]) if peer else None, (str(own[0]), int(own[1])), scheme)
