"""Paths that several routes share: each method has its own answer."""

from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse
from hermes.httpd.routes import HttpRoute, allowed_methods


async def _answer(_request: HttpRequest) -> HttpResponse | None:
    return None


def test_all_methods_of_a_path_are_named_whichever_route_has_them() -> None:
    routes = [
        HttpRoute("/v1/jobs", _answer),
        HttpRoute("/v1/jobs", _answer, methods=["POST"]),
        HttpRoute("/v1/jobs/{id}", _answer, methods=["PATCH"]),
        HttpRoute("/v1/jobs/{id}", _answer, methods=["DELETE"]),
    ]
    assert allowed_methods(routes, "/v1/jobs") == "GET, HEAD, POST"
    assert allowed_methods(routes, "/v1/jobs/a") == "DELETE, PATCH"
    assert allowed_methods(routes, "/v1/turns") == ""
