"""Serve HTTP on given sockets, with a graceful shutdown.

Signals are the process's own business, and an idle server does not wake up.
"""

import asyncio
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from hermes.httpd.connection import ConnectionTimeouts, HttpConnection
from hermes.httpd.connections import Connections
from hermes.httpd.site import Site

CONNECTIONS_MIN: Final = 32
FILES_KEPT: Final = 256  # for others: the journal, commands, the model
GRACE_S: Final = 2.0  # for answers that are being written when the server closes


class Terms(Struct, frozen=True, kw_only=True):
    """The limits of a server."""

    connections_max: int
    backlog: int
    patience: ConnectionTimeouts
    grace_s: float = GRACE_S


@asynccontextmanager
async def serving(
    site: Site, sockets: Sequence[socket.socket], terms: Terms, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Listen on the sockets until the block ends, then close them."""
    loop = asyncio.get_running_loop()
    crowd, patience = Connections(places(terms.connections_max)), terms.patience

    def line() -> HttpConnection:
        return HttpConnection(site, crowd, patience)

    servers: list[asyncio.Server] = []
    try:
        for one in sockets:
            server = await loop.create_server(
                line,
                sock=one,
                ssl=tls,
                backlog=terms.backlog,
                ssl_handshake_timeout=patience.head_s if tls else None,
                ssl_shutdown_timeout=patience.linger_s if tls else None,
            )
            servers.append(server)
        yield
    finally:
        for server in servers:
            server.close()
        for one in sockets:
            one.close()
        await crowd.dismiss(terms.grace_s)


def places(most: int) -> int:
    """Return how many connections the limit on open files allows; some files are kept for other
    uses."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = most if files == resource.RLIM_INFINITY else files - FILES_KEPT
    return max(CONNECTIONS_MIN, min(most, room))
