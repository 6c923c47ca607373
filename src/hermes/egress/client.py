"""The client for every URL that comes from content: pages, archives, links of others.

It asks with GET and nothing else; it has no way to carry a key, a cookie or a word of ours. Each
step, the first as every redirect: the URL is judged, its name looked up once, every answer judged,
and one of these very addresses connected to. No proxy of the environment is asked.
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
from hermes.egress.body import CODINGS, body_of
from hermes.egress.faults import Blocked, TooMuch, Unreachable
from hermes.egress.kinds import Kind, kind_of, text_of
from hermes.egress.line import Line
from hermes.egress.origin import Origin, target
from hermes.egress.response import Response
from hermes.egress.rules import Rules
from hermes.egress.trust import trusted

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
ADDRESSES_TRIED_MAX: Final = 4
LOOKUPS_MAX: Final = 4
FETCHES_MAX: Final = 16
_LOOKUPS: Final = ThreadPoolExecutor(LOOKUPS_MAX, "lookup")  # a stuck one holds up nobody else

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Dial = Callable[[Origin, Address, ssl.SSLContext | None], Awaitable[Line]]


class Limits(Struct, frozen=True, kw_only=True):
    body_bytes: int = 10_000_000  # unpacked
    total_s: float = 30.0  # with all redirects
    connect_s: float = 5.0  # to one address
    redirects: int = 5


class Page(Struct, frozen=True, kw_only=True):
    """What was there. All of it but `inside` is the word of a stranger."""

    url: str  # where it was in the end
    status: int
    media_type: str  # as the server says
    kind: Kind  # as its bytes say
    what: str  # in words, where it is no text
    body: bytes
    inside: bool  # somewhere that the owner opened

    @property
    def text(self) -> str:
        return text_of(self.body, self.media_type)


class Settled(Struct, frozen=True, kw_only=True):
    """Where a URL leads in the end, and at which address that was found."""

    url: str
    server: Origin
    address: Address
    status: int


async def looked_up(host: str, port: int) -> Sequence[str]:
    """All addresses that this machine knows for the name."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.run_in_executor(_LOOKUPS, _addresses, host, port)
    except OSError as unknown:
        raise Unreachable(f"{host}: nobody knows this name") from unknown
    return list(dict.fromkeys(found))


def _addresses(host: str, port: int) -> list[str]:
    return [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


async def dialled(server: Origin, address: Address, trust: ssl.SSLContext | None) -> Line:
    """The socket gets a number; only TLS and the header `host` hear the name."""
    loop, line = asyncio.get_running_loop(), Line()
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
    """Collaborators are arguments so that tests can have a name server and a wall of their own."""

    def __init__(
        self,
        rules: Rules,
        *,
        limits: Limits | None = None,
        resolve: Resolve = looked_up,
        dial: Dial = dialled,
        trust: Callable[[], ssl.SSLContext] = trusted,
    ) -> None:
        self.rules = rules
        self._limits = limits or Limits()
        self._resolve = resolve
        self._dial = dial
        self._make_trust = trust
        self._trust: ssl.SSLContext | None = None
        self._turns = asyncio.Semaphore(FETCHES_MAX)

    async def fetch(self, url: str) -> Page:
        """Raises HttpFailed: Blocked before anything is sent, TooMuch, Unreachable, Broken, …"""
        async with self._within(), self._followed(url) as (settled, inside, response):
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

    async def settle(self, url: str) -> Settled:
        """Only the way there, for a program that is then told this one address. As `fetch`."""
        async with self._within(), self._followed(url) as (settled, _inside, _response):
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
    async def _followed(self, url: str) -> AsyncIterator[tuple[Settled, bool, Response]]:
        """Where the redirects end. From the world none of them leads inside."""
        rules = self.rules
        for _ in range(self._limits.redirects + 1):
            server = rules.server(url)
            inside = rules.is_inside(server)
            addresses = await self._found(rules, server)
            line, address = await self._connected(server, addresses)
            try:
                response = await line.ask(_request(server, url), self._limits.total_s)
                location = response.headers.get("location", "")
                if response.status not in REDIRECTS or not location:
                    settled = Settled(
                        url=url, server=server, address=address, status=response.status
                    )
                    yield settled, inside, response
                    return
            finally:
                line.abort()
            url = _next(server, url, location)
            rules = rules if inside else replace(rules, may_enter=False)
        raise TooMuch(f"more than {self._limits.redirects} redirects")

    async def _found(self, rules: Rules, server: Origin) -> Sequence[Address]:
        host = server.host
        numeric = ":" in host or host.rpartition(".")[2].isdecimal()
        answers = [host] if numeric else await self._resolve(host, server.port)
        return rules.reachable(server, answers)

    async def _connected(
        self, server: Origin, addresses: Sequence[Address]
    ) -> tuple[Line, Address]:
        """To one of these numbers; from here on no name is looked up."""
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


def _request(server: Origin, url: str) -> bytes:
    lines = (
        f"GET {target(url)} HTTP/1.1",
        f"host: {server.authority}",
        f"user-agent: hermes/{__version__}",
        "accept: text/html, text/plain, application/json;q=0.9, */*;q=0.5",
        f"accept-encoding: {', '.join(CODINGS)}",
        "connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")


def _next(server: Origin, url: str, location: str) -> str:
    """Servers write letters of any kind there; what else is wrong with it, the rules will say."""
    with contextlib.suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    try:
        where = urljoin(url, location.strip(" "))
    except ValueError as wrong:
        raise Blocked("it redirects to what is no URL") from wrong
    if server.secure and not where.lower().startswith("https:"):
        raise Blocked("it redirects from https to something that is not")
    return where
