"""Connect to a server: TCP, TLS, and the tunnel through a proxy. All sockets are opened here."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from hermes.wire.faults import ConnectLate, Unreachable
from hermes.wire.origin import UrlOrigin
from hermes.wire.route import Proxy

HEAD_START_S: Final = 0.25  # for the first address of a name, before the next one is tried too
PROXY_ANSWER_BYTES_MAX: Final = 64 * 1024


async def dial(
    server: UrlOrigin,
    proxy: Proxy | None,
    trust: ssl.SSLContext | None,
    make: Callable[[], asyncio.Protocol],
    limit_s: float,
    *,
    tunnel: bool = False,
) -> None:
    """Connect the protocol that `make` returns. `trust` is needed when the server or the proxy
    speaks TLS. With `tunnel` a proxy relays plain bytes as well, instead of reading requests."""
    try:
        async with asyncio.timeout(limit_s) as limit:
            if proxy is None:
                await _reach(server, trust if server.secure else None, make)
            elif server.secure or tunnel:
                await _tunnel(server, proxy, trust, make)
            else:
                await _reach(proxy.origin, trust if proxy.origin.secure else None, make)
    except OSError as broken:  # TimeoutError is one, and so are TLS's own
        if limit.expired():
            raise ConnectLate(f"no connection within {limit_s:g} s") from broken
        through = f"through the proxy {proxy.origin.place}: " if proxy is not None else ""
        raise Unreachable(f"{through}{broken or type(broken).__name__}") from broken


async def _reach(
    server: UrlOrigin, trust: ssl.SSLContext | None, make: Callable[[], asyncio.Protocol]
) -> asyncio.Transport:
    """Open a TCP connection, with TLS where `trust` is given."""
    transport, _ = await asyncio.get_running_loop().create_connection(
        make, server.host, server.port, ssl=trust, happy_eyeballs_delay=HEAD_START_S
    )
    return transport


async def _tunnel(
    server: UrlOrigin,
    proxy: Proxy,
    trust: ssl.SSLContext | None,
    make: Callable[[], asyncio.Protocol],
) -> None:
    """Open a CONNECT tunnel through the proxy. With TLS the proxy relays bytes that it cannot
    read."""
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
        if server.secure:
            assert trust is not None
            secured = await loop.start_tls(outer, inner, trust, server_hostname=server.host)
            assert secured is not None
            inner.connection_made(secured)
        else:
            outer.set_protocol(inner)
            inner.connection_made(outer)
        passed = True
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as broken:
        raise ConnectionError("it did not answer") from broken
    finally:
        if not passed:
            outer.abort()


def _demand_passage(head: bytes) -> None:
    version, _, said = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
    if not version.startswith("HTTP/1.") or not said.startswith("2"):
        raise ConnectionRefusedError(f"it answered {said or version}")
