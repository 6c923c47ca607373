"""Which path leads where, and what a client is told when something goes wrong on the way."""

from collections.abc import Callable, Sequence

from hermes.channels.api.chat import Completions
from hermes.channels.api.events import Events
from hermes.channels.api.front import Front, refused
from hermes.channels.api.gate import Gate
from hermes.channels.api.lookups import Lookups
from hermes.channels.api.orders import Orders
from hermes.channels.api.refusals import NO_STORE, Unserved, busy, unknown
from hermes.channels.reach import Reach
from hermes.channels.serving.answer import Answer
from hermes.channels.serving.head import Head
from hermes.channels.serving.request import Request
from hermes.channels.serving.routes import Route, allowed, found
from hermes.core.errors import Rejected, StoreFailed


def application(front: Front, *, key: Callable[[], str], reach: Reach) -> Gate:
    routes = table(front)

    async def answer(request: Request) -> Answer | None:
        try:
            route = found(routes, request)
            if route is None:
                return refused(_nowhere(routes, request.head))
            return await route.answer(request)
        except Unserved as unserved:
            return refused(unserved)
        except Rejected as rejected:
            return refused(Unserved(400, f"{_sentence(str(rejected))}.", code="rejected"))
        except StoreFailed as failed:  # it may be well again in a moment
            return refused(busy(f"The store cannot be used now: {failed}.", NO_STORE))

    return Gate(answer, front=front, key=key, reach=reach)


def table(front: Front) -> list[Route]:
    """In the order of how often they are asked for; of two that fit, the first counts."""
    see, order = Lookups(front), Orders(front)
    return [
        Route("/v1/chat/completions", Completions(front).answer, methods=["POST"]),
        Route("/health", see.health),
        Route("/metrics", see.metrics),
        Route("/v1/events", Events(front).answer),
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


def _nowhere(routes: Sequence[Route], head: Head) -> Unserved:
    what = f"{head.method} {head.path}"
    if methods := allowed(routes, head.path):
        text = f"{what}: this path takes {methods}."
        return Unserved(405, text, code="method_not_allowed", headers={"allow": methods})
    return unknown(f"There is no {what}.")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")
