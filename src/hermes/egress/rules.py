"""Decide whether an untrusted URL may be fetched (SSRF): check the URL, then each of its addresses.

Pure. One parser reads a URL, and the connection uses what it read, so no second parser can see
another host in it. An ambiguous URL is refused.
"""

import contextlib
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from msgspec import Struct

from hermes.core.errors import Misconfigured
from hermes.egress.addresses import (
    CLOUD,
    MADE_UP,
    PRIVATE,
    Address,
    Network,
    carried,
    is_in,
    is_of_the_world,
)
from hermes.lazy import LazyPattern
from hermes.wire.faults import Blocked
from hermes.wire.origin import PORTS, BadURL, UrlOrigin, split

URL_CHARS_MAX: Final = 4_000
NAME_CHARS_MAX: Final = 253
ANSWERS_MAX: Final = 64
WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
OWNER: Final = "If this is intended, the owner can add it to network.allow"
# Names that mean this machine or its local network everywhere.
_HERE: Final = frozenset(
    (
        *("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp"),
        *("private", "arpa", "onion", "alt"),
    )
)
_NETLOC: Final = LazyPattern(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[^\[\]:@%/?#]+))(?::(?P<port>[0-9]{0,5}))?"
)
_LABEL: Final = LazyPattern(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = LazyPattern(r"[0-9]+|0x[0-9a-f]*")
_UNCLEAR: Final = LazyPattern(
    r"[\s\\\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff"
    r"\U000e0000-\U000e0fff]"
)
_TWO_READINGS: Final = LazyPattern("[\u00df\u03c2\u1e9e]")  # the rules of 2003 and 2008 differ here
_ENTRY: Final = LazyPattern(r"(?P<host>\[[0-9a-f:.]+\]|[^:\s\[\]]+)(?::(?P<port>[0-9]{1,5}))?")


class AllowedHost(Struct, frozen=True):
    """An entry of `network.allow`: a name or a range of addresses, perhaps for one port."""

    name: str = ""
    network: Network | None = None
    port: int | None = None

    def names(self, server: UrlOrigin, address: Address | None) -> bool:
        """Return True if the entry covers the server. `address` is the IP address in the URL, if it
        has one."""
        if self.network is None:
            return server.host == self.name
        if address is None or not is_in(address, (self.network,)):
            return False
        return self.network.num_addresses == 1 or not is_in(address, CLOUD)


def openings(entries: Sequence[str]) -> tuple[AllowedHost, ...]:
    """Parse the entries of `network.allow`. Raise Misconfigured for a wrong one."""
    return tuple(_opening(entry) for entry in entries)


def _opening(entry: str) -> AllowedHost:
    text = entry.strip().lower()
    try:
        return AllowedHost(network=ip_network(text))
    except ValueError:
        found = _ENTRY.fullmatch(text)
    port = int(found["port"]) if found and found["port"] else None
    if found and (port is None or 0 < port < 2**16):
        with contextlib.suppress(Blocked):
            host = _host(found["host"])
            address = _spelled(host)
            network = None if address is None else ip_network(address)
            return AllowedHost(name="" if network else host, network=network, port=port)
    problem = f"{entry[:80]!r} is neither a host nor a range of addresses"
    fix = "Write wiki.example, wiki.example:3000, 10.0.0.5 or 10.0.0.0/24"
    raise Misconfigured("network.allow", problem, fix)


class EgressRules(Struct, frozen=True):
    """The rules for outgoing requests. `may_enter` says whether `network.allow` counts; it is False
    for a redirect that comes from a public server."""

    openings: tuple[AllowedHost, ...] = ()
    may_enter: bool = True

    def server(self, url: str) -> UrlOrigin:
        """Return the server that the URL names. Raise Blocked for a URL that must not be
        fetched."""
        if len(url) > URL_CHARS_MAX:
            raise Blocked(f"a URL of more than {URL_CHARS_MAX:,} characters")
        if _UNCLEAR.search(url):
            raise Blocked("a URL with spaces, backslashes or characters that cannot be seen")
        try:
            parts = split(url)
        except BadURL as bad:
            raise Blocked(str(bad)) from bad
        if parts.scheme not in PORTS:
            raise Blocked("a URL that starts with neither http:// nor https://")
        if "@" in parts.netloc:
            raise Blocked("a URL with a name or a password in it")
        found = _NETLOC.fullmatch(parts.netloc.lower())
        if found is None:
            raise Blocked("a URL with a wrong host or port")
        port = int(found["port"]) if found["port"] else PORTS[parts.scheme]
        server = UrlOrigin(parts.scheme == "https", _host(found["six"] or found["name"]), port)
        self._demand_usual(server)
        return server

    def is_inside(self, server: UrlOrigin) -> bool:
        """Return True if `network.allow` names the server: it belongs to the owner."""
        address = _spelled(server.host)
        return self.may_enter and any(
            opening.names(server, address)
            for opening in self.openings
            if opening.port in (None, server.port)
        )

    def reachable(self, server: UrlOrigin, answers: Sequence[str]) -> tuple[Address, ...]:
        """Return the addresses to connect to. Raise Blocked unless every one of them is allowed."""
        if not answers or len(answers) > ANSWERS_MAX:
            raise Blocked(f"{server.host} has no address, or more than {ANSWERS_MAX}")
        try:
            found = tuple(ip_address(answer) for answer in answers)
        except ValueError as wrong:
            raise Blocked(f"{server.host} has an invalid address") from wrong
        inside = self.is_inside(server)
        for address in found:
            if not (is_of_the_world(address) or self._opens(server, address, inside)):
                raise Blocked(f"{server.host} is not on the public internet. {OWNER}")
        return found

    def _demand_usual(self, server: UrlOrigin) -> None:
        """Raise Blocked for a port other than those of the web, and for a name of the local
        network."""
        address = _spelled(server.host)
        exact = self.may_enter and any(
            opening.port == server.port and opening.names(server, address)
            for opening in self.openings
        )
        if server.port not in WEB_PORTS and not exact:
            usual = ", ".join(str(port) for port in sorted(WEB_PORTS))
            raise Blocked(f"port {server.port} is not a web port ({usual}). {OWNER}")
        last = server.host.rpartition(".")[2]
        lone = last in _HERE or "." not in server.host
        if address is None and lone and not self.is_inside(server):
            raise Blocked(f"{server.host} is a name in this machine or local network. {OWNER}")

    def _opens(self, server: UrlOrigin, address: Address, inside: bool) -> bool:
        through = carried(address)
        if through != address and not is_of_the_world(through):
            return False
        if _spelled(server.host) is not None:
            return inside
        if inside and is_in(address, PRIVATE) and not is_in(address, CLOUD):
            return True
        made_up = [each.network for each in self.openings if each.network is not None]
        return is_in(address, MADE_UP) and is_in(address, made_up)


def _host(text: str) -> str:
    """Return the host in its canonical form, as it is resolved and connected to. Raise Blocked."""
    text = text.strip("[]")
    if ":" in text:
        try:
            return str(IPv6Address(text))
        except ValueError as wrong:
            raise Blocked("a URL with a wrong address") from wrong
    if _TWO_READINGS.search(text):
        raise Blocked("a host with letters that are read in two ways; write its xn-- form")
    try:
        name = text.lower() if text.isascii() else text.encode("idna").decode("ascii").lower()
    except UnicodeError as wrong:
        raise Blocked("a host that is not a valid name; write its xn-- form") from wrong
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > NAME_CHARS_MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise Blocked("a URL with a wrong host")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(name))
        except ValueError as wrong:
            raise Blocked("an address in an unusual spelling; write four numbers") from wrong
    return name


def _spelled(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
