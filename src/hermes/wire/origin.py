"""Split a URL into its server and its request target. Pure."""

import functools
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

from msgspec import Struct

PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
LABEL_CHARS_MAX: Final = 63  # of a name, between two points
_PATH_MARKS: Final = "/%:@!$&'()*+,;=-._~"


class BadURL(ValueError):
    """The URL names no server. The text says why, without repeating the URL."""


class UrlOrigin(Struct, frozen=True):
    """A server: scheme, host and port."""

    secure: bool
    host: str  # ASCII; an IPv6 address without brackets
    port: int

    @property
    def place(self) -> str:
        """Return host:port, as a proxy's CONNECT takes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """Return the value of the Host header: the default port is left out."""
        usual = PORTS["https" if self.secure else "http"]
        return self.place.removesuffix(f":{usual}") if self.port == usual else self.place


def http_url(url: str) -> str:
    """Return the URL with http for ws, and https for wss."""
    scheme, mark, rest = url.strip().partition("://")
    known = {"ws": "http", "wss": "https"}
    return f"{known.get(scheme.lower(), scheme)}{mark}{rest}"


def origin(url: str) -> UrlOrigin:
    """Return the server that the URL names. Raise BadURL, also for a user name or password in it:
    they would end up in logs."""
    parts = split(url)
    if parts.username is not None or parts.password is not None:
        raise BadURL("a URL with a name or a password in it")
    return origin_of(parts)


@functools.lru_cache(maxsize=64)
def target(url: str) -> str:
    """Return path and query, as a request line takes them."""
    parts = split(url)
    path = quote(parts.path or "/", safe=_PATH_MARKS)
    return f"{path}?{quote(parts.query, safe=_PATH_MARKS + '?')}" if parts.query else path


def split(url: str) -> SplitResult:
    if any(letter < " " or letter == "\x7f" for letter in url):
        raise BadURL("a URL with control characters")
    if any("\ud800" <= letter <= "\udfff" for letter in url):
        raise BadURL("a URL with invalid characters")
    try:
        return urlsplit(url.strip())
    except ValueError as wrong:
        raise BadURL("not a URL") from wrong


def origin_of(parts: SplitResult) -> UrlOrigin:
    if parts.scheme not in PORTS:
        raise BadURL("a URL that starts with neither http:// nor https://")
    try:
        host = parts.hostname or ""
        host = host if host.isascii() else host.encode("idna").decode("ascii")
        port = PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError as wrong:  # also UnicodeError
        raise BadURL("a URL with a wrong host or port") from wrong
    labels = host.removesuffix(".").split(".")
    fits = all(0 < len(label) <= LABEL_CHARS_MAX for label in labels)  # or no name server is asked
    if not fits or port == 0 or re.search(r"[^\w.:%~-]", host):
        raise BadURL("a URL with a wrong host or port")
    return UrlOrigin(parts.scheme == "https", host, port)
