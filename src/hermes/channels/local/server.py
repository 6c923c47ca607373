"""The gateway's side of the channel: chats connect to a socket in the home.

The gateway runs the turns; a chat writes, follows and shows. A reply is delivered when one of the
chats that follow its session has shown it, and waits until then.
"""

import asyncio
import logging
import socket
from collections.abc import Sequence
from pathlib import Path

from hermes.channels.local.connections import LocalConnections
from hermes.channels.local.manifest import SERVED
from hermes.channels.local.shared import LocalReceivers
from hermes.channels.local.sockets import Streams, bound, streams
from hermes.channels.local.visit import Visit
from hermes.core.channel import ChannelHost, Manifest
from hermes.core.errors import ChannelDown
from hermes.core.messages import Reply

VISITS_MAX = 64
AGAIN_S = 5.0

log = logging.getLogger("hermes.channels.local")


class LocalServer:
    """`path` is the socket: HERMES_HOME/gateway.sock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._crowd = LocalConnections()
        self._ears = LocalReceivers()
        self._visits: set[asyncio.Task[None]] = set()

    @property
    def manifest(self) -> Manifest:
        return SERVED

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        await self._crowd.show(reply, chunk, key)
        return key

    async def listen(self, host: ChannelHost) -> None:
        try:
            listener = bound(self._path)
        except OSError as refused:
            why = f"{self._path}: {refused.strerror or refused}"
            raise ChannelDown(why, delay_s=AGAIN_S) from refused
        host.connected()
        try:
            while True:
                self._admit(await _accepted(listener), host)
        finally:
            self._path.unlink(missing_ok=True)
            listener.close()
            await self.leave()

    async def leave(self) -> None:
        """Disconnect all chats; deliveries under way end first."""
        for visit in self._visits:
            visit.cancel()
        if self._visits:
            await asyncio.wait(self._visits)
        await self._crowd.close()
        await self._ears.close()

    async def welcome(self, host: ChannelHost) -> Streams:
        """Return the other end of a visit in this process: an engine inside a chat is used like one
        in another process."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        self._admit(ours, host)
        return await streams(theirs)

    def _admit(self, link: socket.socket, host: ChannelHost) -> None:
        if len(self._visits) >= VISITS_MAX:
            log.warning("%d chats are connected, the limit; another one was refused", VISITS_MAX)
            link.close()
            return
        visit = asyncio.create_task(self._visit(link, host))
        self._visits.add(visit)
        visit.add_done_callback(self._left)

    async def _visit(self, link: socket.socket, host: ChannelHost) -> None:
        await Visit(host, self._crowd, self._ears, await streams(link)).run()

    def _left(self, visit: "asyncio.Task[None]") -> None:
        self._visits.discard(visit)
        if not visit.cancelled() and (error := visit.exception()) is not None:
            log.error("a chat's visit broke: %s", error, exc_info=error)


async def _accepted(listener: socket.socket) -> socket.socket:
    try:
        link, _ = await asyncio.get_running_loop().sock_accept(listener)
    except OSError as refused:  # too many open files, say
        why = f"chats cannot come in: {refused.strerror}"
        raise ChannelDown(why, delay_s=AGAIN_S) from refused
    return link
