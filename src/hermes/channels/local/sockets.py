"""A socket in the home, for its owner only: make, find and read it."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hermes.channels.local.wire import LINE_BYTES_MAX
from hermes.core.errors import ChannelDown
from hermes.views.files import temporary_folder

NAME_BYTES_MAX = 100  # of a socket's address: 107 on Linux, 103 elsewhere
BACKLOG = 16
CLOSE_S = 1.0
GONE = "the connection was closed"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def bound(path: Path) -> socket.socket:
    """Listen there, replacing the socket of a dead gateway: a home has at most one gateway."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        with _short(fresh) as name:
            listener.bind(name)
        fresh.chmod(0o600)
        listener.listen(BACKLOG)
        fresh.replace(path)
    except OSError:
        listener.close()
        raise
    return listener


async def connected(path: Path) -> Streams:
    """Connect. Raise OSError when no process listens there."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.setblocking(False)
        with _short(path) as name:
            await asyncio.get_running_loop().sock_connect(link, name)
        return await streams(link)
    except OSError:
        link.close()
        raise


async def streams(link: socket.socket) -> Streams:
    return await asyncio.open_unix_connection(sock=link, limit=LINE_BYTES_MAX)


async def next_line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line. Raise ChannelDown at the end."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as ended:
        raise ChannelDown(GONE, delay_s=0) from ended
    except asyncio.LimitOverrunError as long:
        raise ChannelDown(f"a line has over {LINE_BYTES_MAX:,} bytes", delay_s=0) from long
    except OSError as broken:
        raise ChannelDown(f"{GONE}: {broken.strerror}", delay_s=0) from broken


async def closed(writer: asyncio.StreamWriter) -> None:
    """Send what was written if the other side reads it, then close."""
    writer.close()
    try:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await writer.wait_closed()
    finally:
        writer.transport.abort()


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Return a short name of the same file for a socket address, through a link to its folder."""
    if len(os.fsencode(path)) <= NAME_BYTES_MAX:
        yield str(path)
        return
    with temporary_folder() as folder:
        link = folder / "home"
        link.symlink_to(path.parent.absolute())
        yield str(link / path.name)
