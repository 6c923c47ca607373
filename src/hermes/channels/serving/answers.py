"""How the requests of one connection are answered: by the site, or, when that fails, for it."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from hermes.channels.serving.answer import Answer, Lines, closes, head_bytes, in_words
from hermes.channels.serving.crowd import Crowd
from hermes.channels.serving.outlet import Outlet
from hermes.channels.serving.request import Request
from hermes.channels.serving.site import Site

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE: Final = (b"connection", b"close")
_CHUNKED: Final = (b"transfer-encoding", b"chunked")

log = logging.getLogger("hermes.channels.serving")


class Unanswered(RuntimeError):
    """A fault of ours: an answer without an end, or two of them."""


class Answers:
    """What a request sees of its connection. `finish` is told of each that has its answer."""

    def __init__(
        self,
        site: Site,
        crowd: Crowd,
        outlet: Outlet,
        *,
        listen: Callable[[], None],
        finish: Callable[[Request], None],
    ) -> None:
        self._site, self._crowd, self._outlet = site, crowd, outlet
        self._listen = listen
        self.finish = finish
        self.write = outlet.write
        self.writable = outlet.writable

    def start(self, request: Request) -> None:
        self._crowd.work(self._serve(request), partial(self._served, request))

    def want(self, request: Request) -> None:
        if request.expects:
            request.expects = False
            self.write(_CONTINUE)
        self._listen()

    def begin(self, request: Request, status: int, lines: Lines) -> None:
        """An older client takes the end of the connection for the end of the answer."""
        request.last = request.last or not request.head.chunks
        silent = request.head.method == "HEAD"
        framing = (_CHUNKED,) if request.head.chunks and not silent else ()
        self._begin(request, status, (*lines, *framing), b"")

    async def _serve(self, request: Request) -> None:
        if self._crowd.is_full:
            request.last = True
            self._reply(request, in_words(503))
            return
        answer = await self._site.answer(request)
        if answer is not None:
            self._reply(request, answer)
        elif not (request.over or request.gone):
            raise Unanswered(f"{request.head.method} {request.head.path}: no end")

    def _served(self, request: Request, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            what = f"{request.head.method} {request.route or request.head.path[:200]}"
            log.error("%s could not be answered", ascii(what), exc_info=error)
        if request.over or request.gone or not (error or task.cancelled()):
            return
        request.last = True
        if request.begun:
            self.finish(request)  # without its end, so that nobody takes it for the whole
        else:
            self._reply(request, self._site.broken(request))

    def _reply(self, request: Request, answer: Answer) -> None:
        body = b"" if request.head.method == "HEAD" else answer.body
        self._begin(request, answer.status, answer.lines(), body)
        self.finish(request)

    def _begin(self, request: Request, status: int, lines: Lines, body: bytes) -> None:
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
