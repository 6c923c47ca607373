"""Whether a proxy stands between a provider and us. Pure."""

import base64
import ipaddress
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from hermes.egress.origin import PORTS, BadURL, Origin, origin_of, split

_ENTRY: Final = re.compile(r"(?:(?P<scheme>\w+)://)?(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>\d+))?")


class Proxy(Struct, frozen=True):
    """What stands between. Its password does not show itself."""

    origin: Origin
    authorization: str = ""  # a header's value

    def __repr__(self) -> str:
        return f"Proxy({self.origin})"


def proxy_for(server: Origin, proxies: Mapping[str, str]) -> Proxy | None:
    """`proxies` is what the environment says: http, https, all and no. Raises BadURL."""
    named = proxies.get("https" if server.secure else "http") or proxies.get("all")
    if not named or any(_is_spared(server, entry) for entry in proxies.get("no", "").split(",")):
        return None
    parts = split(named if "://" in named else f"http://{named}")
    if parts.scheme not in PORTS:
        raise BadURL(f"a proxy of the kind {parts.scheme}; http and https are known")
    if parts.username is None:
        return Proxy(origin_of(parts))
    words = unquote_to_bytes(parts.username) + b":" + unquote_to_bytes(parts.password or "")
    return Proxy(origin_of(parts), f"Basic {base64.b64encode(words).decode('ascii')}")


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
