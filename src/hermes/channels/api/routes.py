"""The routes of the API, and what a client is told when a request fails."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hermes.channels.api.actions import ApiActions
from hermes.channels.api.chat import Completions
from hermes.channels.api.events import Events
from hermes.channels.api.front import Front, refused
from hermes.channels.api.gate import Gate
from hermes.channels.api.lookups import Lookups
from hermes.channels.api.refusals import LEAVING, NO_STORE, Unserved, busy, unknown
from hermes.core.errors import Fenced, Rejected, StoreFailed
from hermes.httpd.head import RequestHead
from hermes.httpd.reach import NetworkReach
from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse
from hermes.httpd.routes import HttpRoute, allowed_methods, find_route
from hermes.lazy import Lazy, LazyModule

if TYPE_CHECKING:
    from hermes.channels.api import jobs as job_routes
else:
    job_routes = LazyModule("hermes.channels.api.jobs")


def application(front: Front, *, key: Callable[[], str], reach: NetworkReach) -> Gate:
    routes = table(front)

    async def answer(request: HttpRequest) -> HttpResponse | None:
        try:
            route = find_route(routes, request)
            if route is None:
                return refused(_nowhere(routes, request.head))
            return await route.answer(request)
        except Unserved as unserved:
            return refused(unserved)
        except Rejected as rejected:
            return refused(Unserved(400, f"{_sentence(str(rejected))}.", code="rejected"))
        except StoreFailed as failed:  # it may be well again in a moment
            return refused(busy(f"The store cannot be used now: {failed}.", NO_STORE))
        except Fenced:
            return refused(busy(f"{LEAVING} Send the request again.", "gateway_stopping"))

    return Gate(answer, front=front, key=key, reach=reach)


def table(front: Front) -> list[HttpRoute]:
    """Return the routes, the most used first. Of two that match, the first wins."""
    see, act = Lookups(front), ApiActions(front)
    return [
        HttpRoute("/v1/chat/completions", Completions(front).answer, methods=["POST"]),
        HttpRoute("/health", see.health),
        HttpRoute("/metrics", see.metrics),
        HttpRoute("/v1/events", Events(front).answer),
        HttpRoute("/v1/models", see.models),
        HttpRoute("/v1/models/{id:path}", see.model),
        HttpRoute("/v1/sessions", see.sessions),
        HttpRoute("/v1/sessions/{id:path}/messages", see.messages),
        HttpRoute("/v1/sessions/{id:path}", see.session),
        HttpRoute("/v1/turns/{id}", see.turn),
        HttpRoute("/v1/turns/{id}/stop", act.stop, methods=["POST"]),
        HttpRoute("/v1/approvals", act.questions),
        HttpRoute("/v1/approvals/{id}", act.answer, methods=["POST"]),
        *_job_table(front),
    ]


def _job_table(front: Front) -> list[HttpRoute]:
    """Their module is imported when one of them is first asked for."""
    jobs = Lazy(lambda: job_routes.JobRoutes(front))
    return [
        HttpRoute("/v1/jobs", lambda request: jobs().listed(request)),
        HttpRoute("/v1/jobs", lambda request: jobs().create(request), methods=["POST"]),
        HttpRoute("/v1/jobs/{id}", lambda request: jobs().show(request)),
        HttpRoute("/v1/jobs/{id}", lambda request: jobs().change(request), methods=["PATCH"]),
        HttpRoute("/v1/jobs/{id}", lambda request: jobs().remove(request), methods=["DELETE"]),
        HttpRoute("/v1/jobs/{id}/run", lambda request: jobs().run(request), methods=["POST"]),
        HttpRoute("/v1/jobs/{id}/history", lambda request: jobs().history(request)),
    ]


def _nowhere(routes: Sequence[HttpRoute], head: RequestHead) -> Unserved:
    what = f"{head.method} {head.path}"
    if methods := allowed_methods(routes, head.path):
        text = f"{what}: this path takes {methods}."
        return Unserved(405, text, code="method_not_allowed", headers={"allow": methods})
    return unknown(f"There is no {what}.")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")
