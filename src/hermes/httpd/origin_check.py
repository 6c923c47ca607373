"""Check Host, Origin and forwarding headers (DNS rebinding, CSRF). Pure.

A page of another site can make a browser send us requests (CSRF), and a name that its owner points
at this machine makes them look like our own (DNS rebinding). Neither can forge a Host and an Origin
that we know.
"""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct

from hermes.httpd.head import Ends, RequestHead
from hermes.httpd.reach import (
    KNOWN_MAX,
    LOOPBACK_NAMES,
    Address,
    Host,
    NetworkReach,
    address_of,
    host_of,
)

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HOPS_MAX: Final = 20  # of a list of forwarders, from its end
_PORTS: Final = {"http": 80, "https": 443}
_FORWARDED: Final = (b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"forwarded")
_WANTED: Final = frozenset({b"host", b"origin", b"sec-fetch-site", *_FORWARDED})

Headers = dict[bytes, list[str]]


class Visitor(Struct, frozen=True):
    """A client that passed the check. Failures are counted by `name`. `near`: the client is a
    program on this machine, neither a page in a browser nor behind an unknown proxy."""

    name: str
    near: bool


class Turned(Struct, frozen=True):
    """A refused request: the status, and why."""

    status: int
    code: str
    text: str


def visit(reach: NetworkReach, head: RequestHead) -> Visitor | Turned:
    headers, ends = _headers(head.headers), head.ends
    peer = None if ends.client is None else address_of(ends.client)
    behind = reach.trusts(peer)
    if reach.only_proxies and not behind and not (peer is not None and peer.is_loopback):
        return Turned(403, "not_by_proxy", "This port is not encrypted: connect through the proxy.")
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
    """Return the key by which a client is counted: its address, or for IPv6 its /64 network."""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> Headers:
    found: Headers = {}
    for name, value in raw:
        if name in _WANTED:
            found.setdefault(name, []).append(value.decode("latin-1").strip())
    return found


def _asked_for(reach: NetworkReach, ends: Ends, headers: Headers, *, behind: bool) -> Host | Turned:
    """Return the host that the client asked for; behind a proxy, the one that the proxy was asked
    for."""
    given = list(dict.fromkeys(headers.get(b"host", ())))
    host = host_of(given[0]) if len(given) == 1 else None
    if host is None or not _is_ours(reach, ends, host):
        return _misdirected(reach, given)
    if behind and (outer := _last(headers, b"x-forwarded-host")):
        host = host_of(outer)
        if host is None or not _is_ours(reach, ends, host):
            return _misdirected(reach, [outer])
    return host


def _is_ours(reach: NetworkReach, ends: Ends, host: Host) -> bool:
    address, port = ends.server
    if host.port in (None, port):
        at = address_of(host.name)
        if host.name in LOOPBACK_NAMES or host.name == reach.host.lower():
            return True
        if at is not None and at == address_of(address):
            return True
    return any(host.name == own.name and own.port in (None, host.port) for own in reach.hosts)


def _misdirected(reach: NetworkReach, given: list[str]) -> Turned:
    shown = ", ".join(given)[:80] or "nothing"
    text = (
        f"“{shown}” is not a name of this server. If it should be, add it to {reach.section}.hosts."
    )
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


def _first_stranger(reach: NetworkReach, hops: list[str]) -> Address | None:
    """Return the last address in X-Forwarded-For that is not a trusted proxy. Earlier entries can
    be forged."""
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
