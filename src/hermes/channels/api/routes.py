"""Which path leads where, and what a client is told when something goes wrong on the way."""

from collections.abc import Callable
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hermes.channels.api.chat import Completions
from hermes.channels.api.events import Events
from hermes.channels.api.front import Front, refused
from hermes.channels.api.gate import Gate
from hermes.channels.api.lookups import Lookups
from hermes.channels.api.orders import Orders
from hermes.channels.api.refusals import NO_STORE, Unserved, busy
from hermes.channels.reach import Reach
from hermes.core.errors import Rejected, StoreFailed


def application(front: Front, *, key: Callable[[], str], reach: Reach) -> Gate:
    routes = table(front)
    app = Starlette(
        routes=routes,
        exception_handlers={
            Unserved: _unserved,
            Rejected: _rejected,
            StoreFailed: _no_store,
            HTTPException: _no_route,
            Exception: _broken,
        },
    )
    app.router.redirect_slashes = False
    named: dict[object, str] = {route.endpoint: route.path for route in routes}
    return Gate(app, front=front, key=key, reach=reach, routes=named)


def table(front: Front) -> list[Route]:
    """In the order of how often they are asked for; of two that fit, the first counts."""
    see, order = Lookups(front), Orders(front)
    return [
        Route("/v1/chat/completions", Completions(front), methods=["POST"]),
        Route("/health", see.health),
        Route("/metrics", see.metrics),
        Route("/v1/events", Events(front), methods=["GET"]),
        Route("/v1/models", see.models),
        Route("/v1/models/{id:path}", see.model),
        Route("/v1/sessions", see.sessions),
        Route("/v1/sessions/{id:path}/messages", see.messages),
        Route("/v1/sessions/{id:path}", see.session),
        Route("/v1/turns/{id}", see.turn),
        Route("/v1/turns/{id}/stop", order.stop, methods=["POST"]),
        Route("/v1/approvals", order.questions),
        Route("/v1/approvals/{id}", order.answer, methods=["POST"]),
    ]


async def _unserved(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Unserved)
    return refused(error)


async def _rejected(_request: Request, error: Exception) -> Response:
    return refused(Unserved(400, f"{_sentence(str(error))}.", code="rejected"))


async def _no_store(_request: Request, error: Exception) -> Response:
    """Nothing was accepted, or nothing could be read; both may be well again in a moment."""
    return refused(busy(f"The store cannot be used now: {error}.", NO_STORE))


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = f"{request.method} {request.url.path}"
    headers = error.headers or {}
    if error.status_code == _NOT_ALLOWED:
        text = f"{what}: this path takes {headers.get('Allow', 'another method')}."
        return refused(Unserved(405, text, code="method_not_allowed", headers=headers))
    text = f"There is no {what}."
    return refused(Unserved(error.status_code, text, code="not_found", headers=headers))


async def _broken(_request: Request, _error: Exception) -> Response:
    """The log has the rest."""
    text = "Something broke here. The log of the gateway says what."
    return refused(Unserved(500, text, code="internal_error", type_="server_error"))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


_NOT_ALLOWED: Final = 405
