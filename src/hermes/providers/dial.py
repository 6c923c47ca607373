"""Connections to a server: TCP, TLS, and the way through a proxy. Sockets are opened here alone."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from hermes.egress.faults import ConnectLate, Unreachable
from hermes.egress.origin import Origin
from hermes.providers.route import Proxy

HEAD_START_S: Final = 0.25  # for the first address of a name, before the next one is tried too
PROXY_ANSWER_BYTES_MAX: Final = 64 * 1024


async def dial(
    server: Origin,
    proxy: Proxy | None,
    trust: ssl.SSLContext | None,
    make: Callable[[], asyncio.Protocol],
    limit_s: float,
) -> None:
    """Connect what `make` gives. `trust` is there where the server or the proxy speaks TLS."""
    try:
        async with asyncio.timeout(limit_s) as limit:
            if proxy is None:
                await _reach(server, trust if server.secure else None, make)
            elif server.secure:
                assert trust is not None
                await _tunnel(server, proxy, trust, make)
            else:
                await _reach(proxy.origin, trust if proxy.origin.secure else None, make)
    except OSError as broken:  # TimeoutError is one, and so are TLS's own
        if limit.expired():
            raise ConnectLate(f"no connection within {limit_s:g} s") from broken
        through = f"by the proxy {proxy.origin.place}: " if proxy is not None else ""
        raise Unreachable(f"{through}{broken or type(broken).__name__}") from broken


async def _reach(
    server: Origin, trust: ssl.SSLContext | None, make: Callable[[], asyncio.Protocol]
) -> asyncio.Transport:
    """Every connection of a provider begins here."""
    transport, _ = await asyncio.get_running_loop().create_connection(
        make, server.host, server.port, ssl=trust, happy_eyeballs_delay=HEAD_START_S
    )
    return transport


async def _tunnel(
    server: Origin, proxy: Proxy, trust: ssl.SSLContext, make: Callable[[], asyncio.Protocol]
) -> None:
    """The proxy passes bytes on and sees none of them in clear."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(PROXY_ANSWER_BYTES_MAX, loop)
    outer = await _reach(
        proxy.origin,
        trust if proxy.origin.secure else None,
        lambda: asyncio.StreamReaderProtocol(reader, loop=loop),
    )
    passed = False
    try:
        lines = [f"CONNECT {server.place} HTTP/1.1", f"host: {server.place}"]
        if proxy.authorization:
            lines.append(f"proxy-authorization: {proxy.authorization}")
        outer.write("\r\n".join([*lines, "", ""]).encode("ascii"))
        _demand_passage(await reader.readuntil(b"\r\n\r\n"))
        inner = make()
        secured = await loop.start_tls(outer, inner, trust, server_hostname=server.host)
        assert secured is not None
        inner.connection_made(secured)
        passed = True
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as broken:
        raise ConnectionError("it gave no answer") from broken
    finally:
        if not passed:
            outer.abort()


def _demand_passage(head: bytes) -> None:
    version, _, said = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
    if not version.startswith("HTTP/1.") or not said.startswith("2"):
        raise ConnectionRefusedError(f"it answered {said or version}")
