"""A web of its own for attacks: a name server that lies, and a spy at every socket."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from ssl import SSLContext

from hermes.egress.addresses import Address
from hermes.egress.client import Fetcher, FetchLimits
from hermes.egress.rules import EgressRules, openings
from hermes.wire.line import FetchConnection
from hermes.wire.origin import UrlOrigin

_spies: list[list[str]] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and _spies:
        where = arguments[1]
        if isinstance(where, tuple):
            for spy in _spies:
                spy.append(str(where[0]))


sys.addaudithook(_audit)


@contextlib.contextmanager
def sockets_seen() -> Iterator[list[str]]:
    """Record the addresses that anything in this process connects to."""
    seen: list[str] = []
    _spies.append(seen)
    try:
        yield seen
    finally:
        _spies.remove(seen)


@dataclass
class Names:
    """A resolver: each lookup of a name gets its next answer; the last one repeats."""

    answers: dict[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    default: Sequence[str] = ("127.0.0.1",)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        rows = self.answers.get(host, [self.default])
        looks = self.asked.count(host)
        self.asked.append(host)
        return rows[min(looks, len(rows) - 1)]


@dataclass
class Wall:
    """Record where the client would have connected, and refuse the connection."""

    addresses: list[str] = field(default_factory=list)

    async def __call__(
        self, server: UrlOrigin, address: Address, _: SSLContext | None
    ) -> FetchConnection:
        self.addresses.append(str(address))
        raise ConnectionRefusedError


def walled(names: Names) -> tuple[Fetcher, Wall]:
    wall = Wall()
    return Fetcher(EgressRules(), resolve=names, dial=wall), wall


def fetcher(names: Names, *allowed: str, limits: FetchLimits | None = None) -> Fetcher:
    """Return a client that really connects, to addresses that a test allows."""
    return Fetcher(EgressRules(openings(allowed)), limits=limits, resolve=names)


def is_forbidden(address: str) -> bool:
    """Return True for an address that Python's ipaddress calls non-public; ours is under test."""
    return not ip_address(address).is_global or address == "168.63.129.16"
