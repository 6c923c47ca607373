"""What a server serves: a site answers requests, and says what is to be said when it fails."""

from collections.abc import Sequence
from typing import Protocol

from hermes.channels.serving.answer import Answer, Lines, in_words
from hermes.channels.serving.request import Request
from hermes.channels.serving.routes import Route, allowed, found


class Site(Protocol):
    async def answer(self, request: Request) -> Answer | None:
        """None when the answer went through the request's pipe, or when the client has gone."""

    def mark(self, request: Request, status: int) -> Lines:
        """Asked once for each answer, as it leaves: headers that it gets besides its own."""

    def broken(self, request: Request) -> Answer:
        """What a client is told when `answer` fails; the log has the rest."""


class Plain:
    """A site of routes, with nothing around them."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = routes

    async def answer(self, request: Request) -> Answer | None:
        route = found(self._routes, request)
        if route is not None:
            return await route.answer(request)
        if methods := allowed(self._routes, request.head.path):
            return in_words(405, {"allow": methods})
        return in_words(404)

    def mark(self, request: Request, status: int) -> Lines:  # noqa: ARG002
        return ()

    def broken(self, request: Request) -> Answer:  # noqa: ARG002
        return in_words(500)
