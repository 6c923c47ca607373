"""Match paths to routes: literal paths, and paths with one parameter.

`{id}` is a part of the path, `{id:path}` may contain slashes.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse

Handle = Callable[[HttpRequest], Awaitable[HttpResponse | None]]


class HttpRoute:
    """A path and its methods. The first matching route wins. A route with GET also answers HEAD."""

    def __init__(self, path: str, answer: Handle, methods: Iterable[str] = ("GET",)) -> None:
        self.path, self.answer = path, answer
        more = ("HEAD",) if "GET" in methods else ()
        self.methods = frozenset((*methods, *more))
        self._before, _, rest = path.partition("{")
        name, _, self._after = rest.partition("}")
        self._name, _, kind = name.partition(":")
        self._is_long = kind == "path"

    def fits(self, path: str) -> dict[str, str] | None:
        """Return the path's parameters; None if the path does not match."""
        if not self._name:
            return {} if path == self.path else None
        before, after = self._before, self._after
        if not path.startswith(before) or not path.endswith(after):
            return None
        end = len(path) - len(after)
        value = path[len(before) : end]
        short = bool(value) and "/" not in value
        return {self._name: value} if end >= len(before) and (self._is_long or short) else None


def find_route(routes: Sequence[HttpRoute], request: HttpRequest) -> HttpRoute | None:
    """Find the route of a request, and set `route` and `ids` on the request. Return None if its
    path or its method has no route."""
    method, path = request.head.method, request.head.path
    near: HttpRoute | None = None
    for route in routes:
        ids = route.fits(path)
        if ids is None:
            continue
        if method in route.methods:
            request.route, request.ids = route.path, ids
            return route
        near = near or route
    if near is not None:
        request.route = near.path
    return None


def allowed_methods(routes: Sequence[HttpRoute], path: str) -> str:
    """Return the methods of a path, for the Allow header; empty when the path has no route."""
    fitting = (route.methods for route in routes if route.fits(path) is not None)
    return ", ".join(sorted({method for methods in fitting for method in methods}))
