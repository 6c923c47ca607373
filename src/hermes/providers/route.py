"""Where a URL leads: the server, what is asked of it, and whether a proxy stands between. Pure."""

import base64
import functools
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, quote, unquote_to_bytes, urlsplit

PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_ENTRY: Final = re.compile(r"(?:(?P<scheme>\w+)://)?(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>\d+))?")
_PATH_MARKS: Final = "/%:@!$&'()*+,;=-._~"


class BadURL(ValueError):
    """It leads nowhere. The text says why and does not repeat the URL."""


@dataclass(frozen=True)
class Origin:
    """A server."""

    secure: bool
    host: str  # ASCII; an IPv6 address without brackets
    port: int

    @property
    def place(self) -> str:
        """host:port, as a proxy is told."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authority(self) -> str:
        """As the header `host` says it: the usual port is left out."""
        usual = PORTS["https" if self.secure else "http"]
        return self.place.removesuffix(f":{usual}") if self.port == usual else self.place


@dataclass(frozen=True)
class Proxy:
    """What stands between. Its password does not show itself."""

    origin: Origin
    authorization: str = field(default="", repr=False)  # a header's value


def origin(url: str) -> Origin:
    """Raises BadURL, also for a name and password in it: they would end up in logs."""
    parts = _split(url)
    if parts.username is not None or parts.password is not None:
        raise BadURL("a URL with a name or a password in it")
    return _origin(parts)


@functools.lru_cache(maxsize=64)
def target(url: str) -> str:
    """What follows the server: path and query, as a request line takes them."""
    parts = _split(url)
    path = quote(parts.path or "/", safe=_PATH_MARKS)
    return f"{path}?{quote(parts.query, safe=_PATH_MARKS + '?')}" if parts.query else path


def proxy_for(server: Origin, proxies: Mapping[str, str]) -> Proxy | None:
    """`proxies` is what the environment says: http, https, all and no. Raises BadURL."""
    named = proxies.get("https" if server.secure else "http") or proxies.get("all")
    if not named or any(_is_spared(server, entry) for entry in proxies.get("no", "").split(",")):
        return None
    parts = _split(named if "://" in named else f"http://{named}")
    if parts.scheme not in PORTS:
        raise BadURL(f"a proxy of the kind {parts.scheme}; http and https are known")
    if parts.username is None:
        return Proxy(_origin(parts))
    words = unquote_to_bytes(parts.username) + b":" + unquote_to_bytes(parts.password or "")
    return Proxy(_origin(parts), f"Basic {base64.b64encode(words).decode('ascii')}")


def _split(url: str) -> SplitResult:
    if any(letter < " " or letter == "\x7f" for letter in url):
        raise BadURL("a URL with control characters")
    try:
        return urlsplit(url.strip())
    except ValueError as wrong:
        raise BadURL("no URL") from wrong


def _origin(parts: SplitResult) -> Origin:
    if parts.scheme not in PORTS:
        raise BadURL("a URL that starts with neither http:// nor https://")
    try:
        host = parts.hostname or ""
        host = host if host.isascii() else host.encode("idna").decode("ascii")
        port = PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError as wrong:  # also UnicodeError
        raise BadURL("a URL with a wrong host or port") from wrong
    if not host or port == 0 or re.search(r"[^\w.:%~-]", host):
        raise BadURL("a URL with a wrong host or port")
    return Origin(parts.scheme == "https", host, port)


def _is_spared(server: Origin, entry: str) -> bool:
    """`*`, a name with all below it, `.name` for those below alone, an address, a network."""
    entry = entry.strip().lower()
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(server.host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        pass
    found = _ENTRY.fullmatch(entry)
    if found is None or not found["host"]:
        return False
    if found["scheme"] not in (None, "all", "https" if server.secure else "http"):
        return False
    if found["port"] is not None and int(found["port"]) != server.port:
        return False
    host = found["host"].removeprefix("*").strip("[]")
    if host.startswith("."):
        return server.host.endswith(host)
    return server.host == host or server.host.endswith(f".{host}")
