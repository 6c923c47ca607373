"""What a server serves: a site answers requests, and says how to answer when that fails."""

from collections.abc import Sequence
from typing import Protocol

from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse, Lines, in_words
from hermes.httpd.routes import HttpRoute, allowed_methods, find_route


class Site(Protocol):
    async def answer(self, request: HttpRequest) -> HttpResponse | None:
        """Answer a request. Return None when the answer went through the request's pipe, or the
        client has disconnected."""

    def mark(self, request: HttpRequest, status: int) -> Lines:
        """Return extra headers for a response. It is called once per response, when it is sent."""

    def broken(self, request: HttpRequest) -> HttpResponse:
        """Return the response for a request that `answer` failed on; the log has the details."""


class PlainSite:
    """A site with routes and nothing else."""

    def __init__(self, routes: Sequence[HttpRoute]) -> None:
        self._routes = routes

    async def answer(self, request: HttpRequest) -> HttpResponse | None:
        route = find_route(self._routes, request)
        if route is not None:
            return await route.answer(request)
        if methods := allowed_methods(self._routes, request.head.path):
            return in_words(405, {"allow": methods})
        return in_words(404)

    def mark(self, request: HttpRequest, status: int) -> Lines:  # noqa: ARG002
        return ()

    def broken(self, request: HttpRequest) -> HttpResponse:  # noqa: ARG002
        return in_words(500)
