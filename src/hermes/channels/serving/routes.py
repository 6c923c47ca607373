"""Which path leads where: literal paths, and such with one name in them.

`{id}` is a part of the path, `{id:path}` may contain slashes.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from hermes.channels.serving.answer import Answer
from hermes.channels.serving.request import Request

Handle = Callable[[Request], Awaitable[Answer | None]]


class Route:
    """Of two routes that fit, the first counts. Who may GET may ask for the head alone, too."""

    def __init__(self, path: str, answer: Handle, methods: Iterable[str] = ("GET",)) -> None:
        self.path, self.answer = path, answer
        more = ("HEAD",) if "GET" in methods else ()
        self.methods = frozenset((*methods, *more))
        self._before, _, rest = path.partition("{")
        name, _, self._after = rest.partition("}")
        self._name, _, kind = name.partition(":")
        self._is_long = kind == "path"

    def fits(self, path: str) -> dict[str, str] | None:
        """What the names in it stand for."""
        if not self._name:
            return {} if path == self.path else None
        before, after = self._before, self._after
        if not path.startswith(before) or not path.endswith(after):
            return None
        end = len(path) - len(after)
        value = path[len(before) : end]
        short = bool(value) and "/" not in value
        return {self._name: value} if end >= len(before) and (self._is_long or short) else None


def found(routes: Sequence[Route], request: Request) -> Route | None:
    """The route of the request, which is told of it. None: its path leads nowhere, or its method
    is not for that path."""
    method, path = request.head.method, request.head.path
    near: Route | None = None
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


def allowed(routes: Sequence[Route], path: str) -> str:
    """The methods for that path, as the Allow header lists them; empty when it leads nowhere."""
    for route in routes:
        if route.fits(path) is not None:
            return ", ".join(sorted(route.methods))
    return ""
