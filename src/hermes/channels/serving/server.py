"""A server: it listens on given sockets, and says goodbye properly.

Signals are the process's own business, and nothing wakes up as long as nobody asks.
"""

import asyncio
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct

from hermes.channels.serving.crowd import Crowd
from hermes.channels.serving.line import Line, Patience
from hermes.channels.serving.site import Site

CONNECTIONS_MIN: Final = 32
FILES_KEPT: Final = 256  # for others: the journal, commands, the model
GRACE_S: Final = 2.0  # for answers that are being written when the server closes


class Terms(Struct, frozen=True, kw_only=True):
    """What a server grants."""

    connections_max: int
    backlog: int
    patience: Patience
    grace_s: float = GRACE_S


@asynccontextmanager
async def serving(
    site: Site, sockets: Sequence[socket.socket], terms: Terms, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """The sockets are listened on until the block ends, and closed then."""
    loop = asyncio.get_running_loop()
    crowd, patience = Crowd(places(terms.connections_max)), terms.patience

    def line() -> Line:
        return Line(site, crowd, patience)

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
    """Of the files that we may open, others need some."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = most if files == resource.RLIM_INFINITY else files - FILES_KEPT
    return max(CONNECTIONS_MIN, min(most, room))
