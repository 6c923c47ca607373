"""Track which processes are alive, and the locks that only one of them may hold.

No wall clock takes part. Every connection of a process carries its token, so the server itself sees
at once that a killed process is gone. A process that is stopped or cut off keeps its connections
but renews no lease: its `beats` stand still. Another process that observes this for the lease time,
by a monotonic clock, declares it dead. That is final: the dead process writes nothing more.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from hermes.core.errors import Fenced, StoreFailed
from hermes.core.ids import NodeId
from hermes.core.messages import sound
from hermes.core.store import Boot
from hermes.stores.postgres.connections import Connection, Dialer, PooledConnection, Row
from hermes.stores.postgres.index import Index
from hermes.stores.postgres.listener import NotificationListener
from hermes.stores.postgres.statements import QUERY

# Rows of the dead that are kept: of chats, of each gateway, of all together.
CHATS_KEPT = 1_000
BOOTS_KEPT = 100
BURIED_KEPT = 20_000


class Watch:
    """How long each other node has been silent, as observed by this process."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._seen: dict[NodeId, tuple[int, float]] = {}
        self._looked_at: float | None = None

    def look(self, now: float, others: Iterable[Row]) -> dict[NodeId, int]:
        """Return the nodes whose lease has expired, with their last beat.

        If this process slept (a closed lid, a stopped process), it could not observe them: a long
        gap between two calls counts as half a lease at most.
        """
        gap = 0.0 if self._looked_at is None else now - self._looked_at
        gap = min(gap, self._lease_s / 2)
        self._looked_at = now
        seen: dict[NodeId, tuple[int, float]] = {}
        for node, beats in others:
            before, silent_s = self._seen.get(node, (beats, -gap))
            seen[node] = (beats, silent_s + gap if before == beats else 0.0)
        self._seen = seen
        return {
            node: beats for node, (beats, silent_s) in seen.items() if silent_s >= self._lease_s
        }


class PostgresNodes:
    def __init__(
        self,
        dialer: Dialer,
        control: PooledConnection,
        listener: NotificationListener,
        index: Index,
        lease_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._dialer = dialer
        self._control = control
        self._listener = listener
        self._index = index
        self._clock = clock
        self._watch = Watch(lease_s)

    @property
    def shard(self) -> int:
        return self._dialer.shard

    async def join(self, node: NodeId, *, seat: str = "") -> None:
        row = {"node": node, "token": self._dialer.token, "at": self._clock(), "seat": sound(seat)}
        if not await self._control.fetch(QUERY["join"], **row):
            raise Fenced(f"node {node} is in use or was declared dead; choose another id")
        self._listener.nodes[node] = seat
        limits = {"chats": CHATS_KEPT, "boots": BOOTS_KEPT, "all": BURIED_KEPT}
        await self._control.fetch(QUERY["forget_nodes"], **limits)
        await self.bury_gone()
        await self._listener.start()

    async def boots(self, seat: str, *, limit: int) -> Sequence[Boot]:
        await self.bury_gone()
        found = await self._control.fetch(QUERY["boots"], seat=sound(seat), limit=limit)
        return [_boot(*row) for row in found]

    async def hold(self, node: NodeId, name: str) -> bool:
        """Try to take the named lock for the node. Return True if the node holds it. While another
        living node holds it, only reads are done."""
        name = sound(name)
        holder = await self._holder(name)
        if holder not in (None, node):
            await self.bury_gone()
            holder = await self._holder(name)
        if holder is not None:
            return holder == node

        async def take(connection: Connection) -> bool:
            async with connection.transaction():
                await connection.execute(QUERY["lock_holds"])
                cursor = await connection.execute(QUERY["hold"], {"name": name, "node": node})
                return cursor.rowcount == 1

        return await self._control.run(take)

    async def beat(self, node: NodeId) -> bool:
        if not await self._control.fetch(QUERY["beat"], node=node):
            return False
        await self.bury_gone()
        others = await self._control.fetch(QUERY["others"], token=self._dialer.token)
        silent = self._watch.look(asyncio.get_running_loop().time(), others)
        if silent:
            names, beats = list(silent), list(silent.values())
            token = self._dialer.token
            await self._control.fetch(QUERY["bury_silent"], id=names, beats=beats, token=token)
        await self._index.read_some()
        return True

    async def leave(self, node: NodeId) -> None:
        """Leave: the node's sessions may be claimed by any other node from now on."""
        await self._control.fetch(QUERY["leave"], node=node)
        self._listener.nodes.pop(node, None)

    async def wake(self, timeout_s: float) -> None:
        await self._listener.wait(timeout_s)

    async def is_alive(self, node: NodeId) -> bool:
        return bool(await self._control.fetch(QUERY["alive"], node=node))

    async def bury_gone(self) -> None:
        await self._control.fetch(QUERY["bury_gone"], token=self._dialer.token)

    async def close(self) -> None:
        for node in tuple(self._listener.nodes):
            with contextlib.suppress(StoreFailed):  # others see by its connections that it is gone
                await self.leave(node)
        await self._listener.close()

    async def _holder(self, name: str) -> NodeId | None:
        """Return the living node that holds the lock."""
        found = await self._control.fetch(QUERY["holder"], name=name)
        return NodeId(found[0][0]) if found else None


def _boot(*row: Any) -> Boot:
    node, started_at, buried, departed = row
    over: Literal["left", "died"] = "left" if departed else "died"
    return Boot(NodeId(node), started_at, over if buried else "alive")
