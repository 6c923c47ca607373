"""Answer the requests of one connection: by the site, or with an error when the site fails."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from hermes.httpd.connections import Connections
from hermes.httpd.outlet import Outlet
from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse, Lines, closes, head_bytes, in_words
from hermes.httpd.site import Site

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE: Final = (b"connection", b"close")
_CHUNKED: Final = (b"transfer-encoding", b"chunked")

log = logging.getLogger("hermes.channels.serving")


class Unanswered(RuntimeError):
    """A bug in the site: it left a request without an answer, or answered twice."""


class ResponseWriter:
    """Write the answers of one connection. It calls `finish` with each request that has its
    answer."""

    def __init__(
        self,
        site: Site,
        crowd: Connections,
        outlet: Outlet,
        *,
        listen: Callable[[], None],
        finish: Callable[[HttpRequest], None],
    ) -> None:
        self._site, self._crowd, self._outlet = site, crowd, outlet
        self._listen = listen
        self.finish = finish
        self.write = outlet.write
        self.writable = outlet.writable

    def start(self, request: HttpRequest) -> None:
        self._crowd.work(self._serve(request), partial(self._served, request))

    def want(self, request: HttpRequest) -> None:
        if request.expects:
            request.expects = False
            self.write(_CONTINUE)
        self._listen()

    def begin(self, request: HttpRequest, status: int, lines: Lines) -> None:
        """Write the head of an answer in pieces. For an HTTP/1.0 client, closing the connection
        ends the answer."""
        request.last = request.last or not request.head.chunks
        silent = request.head.method == "HEAD"
        framing = (_CHUNKED,) if request.head.chunks and not silent else ()
        self._begin(request, status, (*lines, *framing), b"")

    async def _serve(self, request: HttpRequest) -> None:
        if self._crowd.is_full:
            request.last = True
            self._reply(request, in_words(503))
            return
        answer = await self._site.answer(request)
        if answer is not None:
            self._reply(request, answer)
        elif not (request.over or request.gone):
            raise Unanswered(f"{request.head.method} {request.head.path}: no end")

    def _served(self, request: HttpRequest, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            what = f"{request.head.method} {request.route or request.head.path[:200]}"
            log.error("%s could not be answered", ascii(what), exc_info=error)
        if request.over or request.gone or not (error or task.cancelled()):
            return
        request.last = True
        if request.begun:
            self.finish(request)  # cut off, so that the client sees it is incomplete
        else:
            self._reply(request, self._site.broken(request))

    def _reply(self, request: HttpRequest, answer: HttpResponse) -> None:
        body = b"" if request.head.method == "HEAD" else answer.body
        self._begin(request, answer.status, answer.lines(), body)
        self.finish(request)

    def _begin(self, request: HttpRequest, status: int, lines: Lines, body: bytes) -> None:
        if request.begun:
            raise Unanswered(f"{request.head.method} {request.head.path}: two answers")
        told = [*lines, *self._site.mark(request, status)]
        request.begun, request.expects = True, False
        if closes(told):
            request.last = True
        elif request.last:
            told.append(_CLOSE)
        if not request.gone:
            self.write(head_bytes(status, told) + body)
