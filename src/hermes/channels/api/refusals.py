"""Errors of the API, in the format that OpenAI's clients understand."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from hermes.core.errors import Rejected

RETRY_S: Final = 5
NO_RETRY: Final = {"x-should-retry": "false"}  # a client of OpenAI's would run the turn once more
NO_STORE: Final = "store_unavailable"
LEAVING: Final = "This gateway was frozen for too long and was declared dead. It is about to stop."
RETRY: Final = {"retry-after": str(RETRY_S)}


class Fault(Struct, frozen=True):
    message: str
    type: str
    code: str | None = None
    param: str | None = None


class _Body(Struct, frozen=True):
    error: Fault


class Unserved(Rejected):
    """A response with an error status."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        type_: str = "invalid_request_error",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.fault = Fault(message, type_, code)
        self.headers = dict(headers or {})


def fault_body(fault: Fault) -> bytes:
    return msgspec.json.encode(_Body(fault))


def wrong(message: str, code: str | None = None) -> Unserved:
    """Return the error for an invalid request (400)."""
    return Unserved(400, message, code=code)


def unknown(what: str) -> Unserved:
    return Unserved(404, what, code="not_found")


def busy(message: str, code: str) -> Unserved:
    """Return the error for a request that was not accepted and may be repeated later."""
    return Unserved(503, message, code=code, type_="server_error", headers=RETRY)
