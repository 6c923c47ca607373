"""Decide whether requests to a server go through a proxy."""

import base64
import ipaddress
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes, urlsplit

from msgspec import Struct

from hermes.lazy import LazyModule
from hermes.wire.origin import PORTS, BadURL, UrlOrigin, origin_of, split

if TYPE_CHECKING:
    from urllib import request as urllib_request
else:
    urllib_request = LazyModule("urllib.request")

_ENTRY: Final = re.compile(r"(?:(?P<scheme>\w+)://)?(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>\d+))?")


def is_loopback(url: str) -> bool:
    """Return True if the URL names this machine. Loopback never goes through a proxy."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, or no URL
        return False


def proxies_to(url: str) -> Mapping[str, str]:
    """Return the environment's proxy settings for requests to this URL."""
    if is_loopback(url):
        return {}
    if sys.platform == "linux" and not any(name.lower().endswith("_proxy") for name in os.environ):
        return {}  # other systems also have settings of their own for them
    return urllib_request.getproxies()


class Proxy(Struct, frozen=True):
    """A proxy. Its password is hidden from its text form."""

    origin: UrlOrigin
    authorization: str = ""  # a header's value

    def __repr__(self) -> str:
        return f"Proxy({self.origin})"


def proxy_for(server: UrlOrigin, proxies: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for a server, or None. `proxies` holds the environment's http, https, all
    and no. Raise BadURL."""
    named = proxies.get("https" if server.secure else "http") or proxies.get("all")
    if not named or any(_is_spared(server, entry) for entry in proxies.get("no", "").split(",")):
        return None
    parts = split(named if "://" in named else f"http://{named}")
    if parts.scheme not in PORTS:
        raise BadURL(f"a proxy with the scheme {parts.scheme}; use http or https")
    if parts.username is None:
        return Proxy(origin_of(parts))
    words = unquote_to_bytes(parts.username) + b":" + unquote_to_bytes(parts.password or "")
    return Proxy(origin_of(parts), f"Basic {base64.b64encode(words).decode('ascii')}")


def _is_spared(server: UrlOrigin, entry: str) -> bool:
    """Return True if an entry of no_proxy covers the server: `*`, a name with its subdomains,
    `.name` for subdomains only, an address or a network."""
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
