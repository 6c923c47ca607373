"""Which processes are alive, and what only one of them may have.

No wall clock takes part. Every connection of a process carries its token, so the server itself
sees that a killed process is gone, at once. One that is stopped or cut off keeps its connections
but renews no lease: `beats` stands still, and whoever watches that for the lease time, by a clock
that never steps, buries it. Being buried is for good: it writes nothing more.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from hermes.core.errors import Fenced, StoreFailed
from hermes.core.ids import NodeId
from hermes.core.messages import sound
from hermes.core.store import Boot
from hermes.stores.postgres.connections import Connection, Dialer, Lane, Row
from hermes.stores.postgres.index import Index
from hermes.stores.postgres.listener import Listener
from hermes.stores.postgres.statements import QUERY

# Rows of the dead that are kept: of chats, of each gateway, of all together.
CHATS_KEPT = 1_000
BOOTS_KEPT = 100
BURIED_KEPT = 20_000


class Watch:
    """For how long we have seen each other node silent."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._seen: dict[NodeId, tuple[int, float]] = {}
        self._looked_at: float | None = None

    def look(self, now: float, others: Iterable[Row]) -> dict[NodeId, int]:
        """The nodes whose lease has run out, and the beat they stopped at.

        If we slept ourselves (a closed lid, a stopped process), they could not be heard: a long
        gap between two looks counts as half a lease and no more.
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
        control: Lane,
        listener: Listener,
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

    async def join(self, node: NodeId, *, seat: str = "") -> None:
        row = {"node": node, "token": self._dialer.token, "at": self._clock(), "seat": sound(seat)}
        if not await self._control.fetch(QUERY["join"], **row):
            raise Fenced(f"node {node} is taken or was taken for dead; choose another id")
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
        """Whoever has it and whoever waits for it only look."""
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
        """Its sessions may be claimed by anybody from here on."""
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
        """The living one."""
        found = await self._control.fetch(QUERY["holder"], name=name)
        return NodeId(found[0][0]) if found else None


def _boot(*row: Any) -> Boot:
    node, started_at, buried, departed = row
    over: Literal["left", "died"] = "left" if departed else "died"
    return Boot(NodeId(node), started_at, over if buried else "alive")
