"""The head of a request as a value: what is asked for, by whom, at which address of ours. Pure."""

from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import parse_qsl, unquote

import httptools
from msgspec import Struct

Fields = list[tuple[bytes, bytes]]  # names in small letters
_SLASHES: Final = b"://"


class Ends(Struct, frozen=True):
    """Both ends of a connection."""

    client: str | None  # none: it has gone already
    server: tuple[str, int]
    scheme: Literal["http", "https"] = "http"


class Head(Struct, frozen=True, eq=False):
    """`path` is decoded. `last`: after the answer the connection closes. `expects`: the client
    sends the body when it is told to go on."""

    method: str
    path: str
    headers: Fields
    ends: Ends
    query: bytes = b""
    chunks: bool = True  # it understands an answer in chunks
    last: bool = False
    expects: bool = False

    def header(self, name: bytes) -> str | None:
        """The first of that name."""
        for key, value in self.headers:
            if key == name:
                return str(value, "latin-1")
        return None

    def named(self) -> Mapping[str, str]:
        """All headers; of a name that comes more than once, the first."""
        pairs = reversed(self.headers)
        return {str(name, "latin-1"): str(value, "latin-1") for name, value in pairs}

    def parameters(self) -> Mapping[str, str]:
        """Those of the query; of a name that comes more than once, the last."""
        return dict(parse_qsl(self.query.decode("latin-1"), keep_blank_values=True))


def path_of(url: bytes) -> tuple[str, bytes]:
    """The path, decoded, and the query. Raises ValueError."""
    parsed = httptools.parse_url(url)
    if parsed.path is None:
        raise ValueError("there is no path")
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.query or b""


def authority_of(url: bytes) -> bytes | None:
    """Whom a request line itself names (`GET http://host/path`); that counts like a Host header."""
    if url.startswith(b"/") or _SLASHES not in url:
        return None
    rest = url.partition(_SLASHES)[2]
    for end in b"/?#":
        rest = rest.partition(bytes((end,)))[0]
    return rest
