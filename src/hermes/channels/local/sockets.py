"""A socket in the home, for its owner alone: how it is made, found and read."""

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
    """Listening there, in the place of what a dead gateway left: a home has one gateway at most."""
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
    """Raises OSError when nobody listens there."""
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
    """Raises ChannelDown when there is none any more."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as ended:
        raise ChannelDown(GONE, delay_s=0) from ended
    except asyncio.LimitOverrunError as long:
        raise ChannelDown(f"a line has over {LINE_BYTES_MAX:,} bytes", delay_s=0) from long
    except OSError as broken:
        raise ChannelDown(f"{GONE}: {broken.strerror}", delay_s=0) from broken


async def closed(writer: asyncio.StreamWriter) -> None:
    """Let what was written go out if the other side takes it, and be gone."""
    writer.close()
    try:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await writer.wait_closed()
    finally:
        writer.transport.abort()


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name of the same file that fits into a socket's address: by way of a link to its folder."""
    if len(os.fsencode(path)) <= NAME_BYTES_MAX:
        yield str(path)
        return
    with temporary_folder() as folder:
        link = folder / "home"
        link.symlink_to(path.parent.absolute())
        yield str(link / path.name)
