"""Fetch URLs that come from content (pages, archives, links), protected against SSRF.

It sends GET only and cannot carry a key, a cookie or other data of ours. Every step, the first
request as well as each redirect, checks the URL, resolves its name once, checks every address and
connects to one of those very addresses, so DNS rebinding has no second lookup to answer. Proxies of
the environment are ignored.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import urljoin

from msgspec import Struct
from msgspec.structs import replace

from hermes import __version__
from hermes.egress.addresses import Address
from hermes.egress.kinds import Kind, kind_of, text_of
from hermes.egress.rules import EgressRules
from hermes.wire.body import CODINGS, body_of
from hermes.wire.faults import Blocked, TooMuch, Unreachable
from hermes.wire.line import FetchConnection
from hermes.wire.origin import UrlOrigin, target
from hermes.wire.response import Response
from hermes.wire.trust import trusted

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
ADDRESSES_TRIED_MAX: Final = 4
LOOKUPS_MAX: Final = 4
FETCHES_MAX: Final = 16
_LOOKUPS: Final = ThreadPoolExecutor(LOOKUPS_MAX, "lookup")  # a stuck lookup blocks no other

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Dial = Callable[[UrlOrigin, Address, ssl.SSLContext | None], Awaitable[FetchConnection]]


class FetchLimits(Struct, frozen=True, kw_only=True):
    body_bytes: int = 10_000_000  # unpacked
    total_s: float = 30.0  # with all redirects
    connect_s: float = 5.0  # to one address
    redirects: int = 5


class Page(Struct, frozen=True, kw_only=True):
    """A fetched page. Every field but `inside` is the word of an untrusted server."""

    url: str  # after redirects
    status: int
    media_type: str  # as the server says
    kind: Kind  # as its bytes say
    what: str  # in words, where it is no text
    body: bytes
    inside: bool  # on a host of `network.allow`

    @property
    def text(self) -> str:
        return text_of(self.body, self.media_type)


class ResolvedUrl(Struct, frozen=True, kw_only=True):
    """The URL behind all redirects, and the address that served it."""

    url: str
    server: UrlOrigin
    address: Address
    status: int


async def looked_up(host: str, port: int) -> Sequence[str]:
    """Return all addresses that the system's resolver has for the name. Raise Unreachable."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.run_in_executor(_LOOKUPS, _addresses, host, port)
    except OSError as unknown:
        raise Unreachable(f"{host}: this name cannot be resolved") from unknown
    return list(dict.fromkeys(found))


def _addresses(host: str, port: int) -> list[str]:
    return [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


async def dialled(
    server: UrlOrigin, address: Address, trust: ssl.SSLContext | None
) -> FetchConnection:
    """Connect to an address. Only TLS (SNI) and the Host header carry the name, so it is not
    resolved a second time."""
    loop, line = asyncio.get_running_loop(), FetchConnection()
    family = socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await loop.sock_connect(sock, (str(address), server.port))
        name = server.host if trust is not None else None
        await loop.create_connection(lambda: line, sock=sock, ssl=trust, server_hostname=name)
    finally:
        if not line.is_open:
            sock.close()
    return line


class Fetcher:
    """Fetch pages within limits. Resolver and dialler are arguments, so that tests can bring their
    own DNS server and network."""

    def __init__(
        self,
        rules: EgressRules,
        *,
        limits: FetchLimits | None = None,
        resolve: Resolve = looked_up,
        dial: Dial = dialled,
        trust: Callable[[], ssl.SSLContext] = trusted,
    ) -> None:
        self.rules = rules
        self._limits = limits or FetchLimits()
        self._resolve = resolve
        self._dial = dial
        self._make_trust = trust
        self._trust: ssl.SSLContext | None = None
        self._turns = asyncio.Semaphore(FETCHES_MAX)

    async def fetch(self, url: str) -> Page:
        """Return the page behind the URL. Raise HttpFailed: Blocked before anything is sent, or
        TooMuch, Unreachable, Broken, …"""
        async with self._within(), self._follow(url) as (settled, inside, response):
            body = await body_of(response, self._limits.body_bytes)
            media_type = response.headers.get("content-type", "")[:200]
            kind, what = kind_of(body, media_type)
            return Page(
                url=settled.url,
                status=response.status,
                media_type=media_type,
                kind=kind,
                what=what,
                body=body,
                inside=inside,
            )

    async def settle(self, url: str) -> ResolvedUrl:
        """Follow the redirects and return where they end, for a program that may then connect to
        this one address. Raise as `fetch` does."""
        async with self._within(), self._follow(url) as (settled, _inside, _response):
            return settled

    @contextlib.asynccontextmanager
    async def _within(self) -> AsyncIterator[None]:
        limit = self._limits.total_s
        try:
            async with asyncio.timeout(limit) as timer, self._turns:
                yield
        except TimeoutError as late:
            if not timer.expired():
                raise
            raise TooMuch(f"it took longer than {limit:g} s") from late

    @contextlib.asynccontextmanager
    async def _follow(self, url: str) -> AsyncIterator[tuple[ResolvedUrl, bool, Response]]:
        """Follow redirects and yield the last response. A redirect from a public server cannot lead
        to an allowed private host."""
        rules = self.rules
        for _ in range(self._limits.redirects + 1):
            server = rules.server(url)
            inside = rules.is_inside(server)
            addresses = await self._find_addresses(rules, server)
            line, address = await self._connect(server, addresses)
            try:
                response = await line.ask(_request(server, url), self._limits.total_s)
                location = response.headers.get("location", "")
                if response.status not in REDIRECTS or not location:
                    settled = ResolvedUrl(
                        url=url, server=server, address=address, status=response.status
                    )
                    yield settled, inside, response
                    return
            finally:
                line.abort()
            url = _next(server, url, location)
            rules = rules if inside else replace(rules, may_enter=False)
        raise TooMuch(f"more than {self._limits.redirects} redirects")

    async def _find_addresses(self, rules: EgressRules, server: UrlOrigin) -> Sequence[Address]:
        host = server.host
        numeric = ":" in host or host.rpartition(".")[2].isdecimal()
        answers = [host] if numeric else await self._resolve(host, server.port)
        return rules.reachable(server, answers)

    async def _connect(
        self, server: UrlOrigin, addresses: Sequence[Address]
    ) -> tuple[FetchConnection, Address]:
        """Connect to the first address that answers. No name is resolved from here on."""
        if server.secure and self._trust is None:
            self._trust = self._make_trust()
        why = ""
        for address in addresses[:ADDRESSES_TRIED_MAX]:
            try:
                async with asyncio.timeout(self._limits.connect_s):
                    trust = self._trust if server.secure else None
                    return await self._dial(server, address, trust), address
            except OSError as broken:  # TimeoutError is one, and so are TLS's own
                why = str(broken) or "not in time"
        raise Unreachable(f"{server.host}: no connection ({why[:200]})")


def _request(server: UrlOrigin, url: str) -> bytes:
    lines = (
        f"GET {target(url)} HTTP/1.1",
        f"host: {server.authority}",
        f"user-agent: hermes/{__version__}",
        "accept: text/html, text/plain, application/json;q=0.9, */*;q=0.5",
        f"accept-encoding: {', '.join(CODINGS)}",
        "connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _next(server: UrlOrigin, url: str, location: str) -> str:
    """Return the absolute URL of a redirect. Servers send raw UTF-8 in `location`; the rules check
    the rest."""
    with contextlib.suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    try:
        where = urljoin(url, location.strip(" "))
    except ValueError as wrong:
        raise Blocked("it redirects to something that is not a URL") from wrong
    if server.secure and not where.lower().startswith("https:"):
        raise Blocked("it redirects from https to an unencrypted address")
    return where
