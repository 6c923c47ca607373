"""Who asks, by which name, and from which page: checked before anything else is. Pure.

A page of another site can make a browser send us requests, and a name that its owner points at
this machine makes them look like our own. Neither can choose the Host and Origin that we know.
"""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct

from hermes.channels.reach import (
    KNOWN_MAX,
    LOOPBACK_NAMES,
    Address,
    Host,
    Reach,
    address_of,
    host_of,
)
from hermes.channels.serving.head import Ends, Head

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HOPS_MAX: Final = 20  # of a list of forwarders, from its end
_PORTS: Final = {"http": 80, "https": 443}
_FORWARDED: Final = (b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"forwarded")
_WANTED: Final = frozenset({b"host", b"origin", b"sec-fetch-site", *_FORWARDED})

Headers = dict[bytes, list[str]]


class Visitor(Struct, frozen=True):
    """`name` is what failures are counted by. `near`: a program of this machine, not a page in
    its browser and not somebody behind a proxy that we do not know."""

    name: str
    near: bool


class Turned(Struct, frozen=True):
    """Sent away, and why."""

    status: int
    code: str
    text: str


def visit(reach: Reach, head: Head) -> Visitor | Turned:
    headers, ends = _headers(head.headers), head.ends
    peer = None if ends.client is None else address_of(ends.client)
    behind = reach.trusts(peer)
    if reach.only_proxies and not behind and not (peer is not None and peer.is_loopback):
        return Turned(403, "not_by_proxy", "Nothing is encrypted here: come by the proxy.")
    host = _asked_for(reach, ends, headers, behind=behind)
    if isinstance(host, Turned):
        return host
    scheme = _last(headers, b"x-forwarded-proto") if behind else ""
    if turned := _from_elsewhere(headers, head.method, scheme or ends.scheme, host):
        return turned
    forwarded = any(name in headers for name in _FORWARDED)
    if behind and forwarded:
        peer = _first_stranger(reach, _listed(headers, b"x-forwarded-for")) or peer
    page = b"origin" in headers
    near = peer is not None and peer.is_loopback and not page and not forwarded
    kind = ", a page" if page else ", forwarded" if forwarded and not behind else ""
    return Visitor(prefix_of(peer) + kind, near)


@lru_cache(KNOWN_MAX)
def prefix_of(address: Address | None) -> str:
    """What one person may well have to himself: an address, of IPv6 a whole network."""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    found: Headers = {}
    for name, value in raw:
        if name in _WANTED:
            found.setdefault(name, []).append(value.decode("latin-1").strip())
    return found


def _asked_for(reach: Reach, ends: Ends, headers: Headers, *, behind: bool) -> Host | Turned:
    """The host that the client wants; behind a proxy the one that the proxy was asked for."""
    given = list(dict.fromkeys(headers.get(b"host", ())))
    host = host_of(given[0]) if len(given) == 1 else None
    if host is None or not _is_ours(reach, ends, host):
        return _misdirected(reach, given)
    if behind and (outer := _last(headers, b"x-forwarded-host")):
        host = host_of(outer)
        if host is None or not _is_ours(reach, ends, host):
            return _misdirected(reach, [outer])
    return host


def _is_ours(reach: Reach, ends: Ends, host: Host) -> bool:
    address, port = ends.server
    if host.port in (None, port):
        at = address_of(host.name)
        if host.name in LOOPBACK_NAMES or host.name == reach.host.lower():
            return True
        if at is not None and at == address_of(address):
            return True
    return any(host.name == own.name and own.port in (None, host.port) for own in reach.hosts)


def _misdirected(reach: Reach, given: list[str]) -> Turned:
    shown = ", ".join(given)[:80] or "nothing"
    text = f"“{shown}” is no name of this server. If it should be, add it to {reach.section}.hosts."
    return Turned(421, "misdirected_request", text)


def _from_elsewhere(headers: Headers, method: str, scheme: str, host: Host) -> Turned | None:
    sites = headers.get(b"sec-fetch-site", ())
    fine = ("same-origin", "none") if method in SAFE else ("same-origin",)
    if any(site not in fine for site in sites):
        return _FOREIGN
    ours = (scheme, host.name, host.port or _PORTS.get(scheme))
    return _FOREIGN if any(_origin(each) != ours for each in headers.get(b"origin", ())) else None


_FOREIGN: Final = Turned(403, "foreign_origin", "A page of another site cannot be served.")


def _origin(text: str) -> tuple[str, str, int | None] | None:
    scheme, _, rest = text.lower().partition("://")
    host = host_of(rest) if scheme in _PORTS else None
    return None if host is None else (scheme, host.name, host.port or _PORTS[scheme])


def _first_stranger(reach: Reach, hops: list[str]) -> Address | None:
    """The last one in the list whom none of ours is: what stands before is hearsay."""
    for hop in reversed(hops[-HOPS_MAX:]):
        address = address_of(hop)
        if address is None or not reach.trusts(address):
            return address
    return None


def _listed(headers: Headers, name: bytes) -> list[str]:
    return [each.strip() for value in headers.get(name, ()) for each in value.split(",")]


def _last(headers: Headers, name: bytes) -> str:
    listed = _listed(headers, name)
    return listed[-1].lower() if listed else ""
