"""What can go wrong with an exchange, for those who asked to say to a person.

HttpFailed              in doubt: the server may have got the request
  Stuck                   it does not take the request
  Broken                  its answer has no end, or is no HTTP
    FetchClosed             the connection ended before a byte of the answer
    SocketClosed            a WebSocket ended; `code` and `reason` say why
  TooMuch                 more bytes, redirects or time than allowed
  Unsendable, Unreachable, ConnectLate, Blocked, HandshakeRefused      nothing was taken
"""

from collections.abc import Mapping
from typing import ClassVar


class HttpFailed(Exception):
    """An HTTP exchange failed. The text says why, in one line and without a secret."""

    in_doubt: ClassVar[bool] = True  # False: the server has not done what was asked


class Unsendable(HttpFailed):
    """The request cannot be written as HTTP, or the environment's proxy cannot be used."""

    in_doubt = False


class Unreachable(HttpFailed):
    """No connection: the server is unreachable, its certificate is not trusted, or the proxy
    refused."""

    in_doubt = False


class ConnectLate(Unreachable):
    """The connection was not established in time."""


class Stuck(HttpFailed):
    """The server stopped reading the request."""


class Broken(HttpFailed):
    """The response ended early or is not valid HTTP."""


class FetchClosed(Broken):
    """The connection closed before the first byte of the response."""


class Blocked(HttpFailed):
    """A URL from untrusted content leads to a forbidden place. Nothing was sent there."""

    in_doubt = False


class TooMuch(HttpFailed):
    """The page took more bytes, redirects or time than allowed."""


class HandshakeRefused(HttpFailed):
    """The server answered without opening a WebSocket. `status` and `headers` are those of its
    answer."""

    in_doubt = False

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(f"the server refused to open a WebSocket (status {status})")
        self.status = status
        self.headers = headers


class SocketClosed(Broken):
    """A WebSocket was closed. `code` is the server's, or 1006 when the server sent none (RFC
    6455)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"the WebSocket was closed ({code}{': ' if reason else ''}{reason})")
        self.code = code
        self.reason = reason
