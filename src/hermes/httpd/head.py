"""The head of a request as a value: method, path, headers, and both ends of the connection.
Pure."""

from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote

import httptools
from msgspec import Struct

Fields = list[tuple[bytes, bytes]]  # names in small letters
_SLASHES: Final = b"://"


class Ends(Struct, frozen=True):
    """The addresses of both ends of a connection."""

    client: str | None  # none: it has gone already
    server: tuple[str, int]
    scheme: Literal["http", "https"] = "http"


class RequestHead(Struct, frozen=True, eq=False):
    """The head of a request. `path` is decoded. `last`: the connection closes after the answer.
    `expects`: the client waits for 100 Continue before it sends the body."""

    method: str
    path: str
    headers: Fields
    ends: Ends
    query: bytes = b""
    chunks: bool = True  # it understands an answer in chunks
    last: bool = False
    expects: bool = False

    def header(self, name: bytes) -> str | None:
        """Return the first header of that name."""
        for key, value in self.headers:
            if key == name:
                return str(value, "latin-1")
        return None

    def named(self) -> Mapping[str, str]:
        """Return all headers; of a repeated name, the first one."""
        pairs = reversed(self.headers)
        return {str(name, "latin-1"): str(value, "latin-1") for name, value in pairs}

    def parameters(self) -> Mapping[str, str]:
        """Return the query parameters; of a repeated name, the last one."""
        return dict(parse_qsl(self.query.decode("latin-1"), keep_blank_values=True))


def path_of(url: bytes) -> tuple[str, bytes]:
    """Return the decoded path and the query. Raise ValueError."""
    parsed = httptools.parse_url(url)
    if parsed.path is None:
        raise ValueError("there is no path")
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.query or b""


def authority_of(url: bytes) -> bytes | None:
    """Return the authority in an absolute request line (`GET http://host/path`). It counts like a
    Host header."""
    if url.startswith(b"/") or _SLASHES not in url:
        return None
    rest = url.partition(_SLASHES)[2]
    for end in b"/?#":
        rest = rest.partition(bytes((end,)))[0]
    return rest
