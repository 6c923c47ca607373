"""Sessions in PostgreSQL: accept, claim, append, rest."""

import asyncio
from collections.abc import Sequence

from hermes.core.codec import decode_event, decode_line
from hermes.core.errors import Fenced
from hermes.core.events import Event, Span
from hermes.core.ids import NodeId, SessionId, SessionKey
from hermes.core.messages import Inbound, Line
from hermes.core.projection import Commit
from hermes.core.salvage import folded
from hermes.core.session import Session
from hermes.core.store import Accepted, Claim, Fence
from hermes.stores.listing import snapshot_of
from hermes.stores.postgres.connections import PooledConnection, Readers
from hermes.stores.postgres.nodes import PostgresNodes
from hermes.stores.postgres.operations import RestOperation, accept_of, append_of
from hermes.stores.postgres.statements import QUERY
from hermes.stores.postgres.writer import PostgresWriter


class PostgresJournal:
    def __init__(
        self,
        writer: PostgresWriter,
        readers: Readers,
        control: PooledConnection,
        nodes: PostgresNodes,
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._control = control
        self._nodes = nodes

    async def accept(self, inbound: Inbound, *, opens: SessionId) -> Accepted:
        operation = accept_of(inbound, opens, asyncio.get_running_loop().create_future())
        self._writer.put(operation)
        return await operation.done

    async def claim(
        self, node: NodeId, *, limit: int, only: SessionKey | None = None
    ) -> Sequence[Claim]:
        if not await self._nodes.is_alive(node):
            raise Fenced(f"node {node} was declared dead and may not write any more")
        await self._nodes.bury_gone()
        if only is not None:
            found = await self._control.fetch(QUERY["claim_one"], node=node, key=only)
            return [Claim(SessionKey(key), epoch) for key, epoch in found]
        found = await self._control.fetch(QUERY["claim"], node=node, limit=limit)
        found.sort(key=lambda row: float(row[2]))
        return [Claim(SessionKey(key), epoch) for key, epoch, _ in found]

    async def owned(self, node: NodeId, *, limit: int) -> Sequence[Claim]:
        found = await self._readers.fetch(QUERY["owned"], node=node, limit=limit)
        return [Claim(SessionKey(key), epoch, head) for key, epoch, head in found]

    async def load(self, key: SessionKey) -> Session:
        """Return the session. Snapshot and events come from one statement, so they match."""
        [(state, events)] = await self._readers.fetch(QUERY["load"], key=key)
        base = snapshot_of(key, state)
        if state is not None and not base.position:  # the snapshot cannot be read: all of it
            found = await self._readers.fetch(QUERY["since"], key=key, position=0, limit=None)
            events = [event for (event,) in found]
        return folded(base, events)

    async def abandon(self, session: Session, *, fence: Fence) -> None:
        values = {
            "key": session.key,
            "node": fence.node,
            "epoch": fence.epoch,
            "position": session.position,
            "waiting": len(session.waiting),
            "at": session.waiting[-1].at if session.waiting else 0.0,
            "shard": self._nodes.shard,
        }
        if not await self._control.fetch(QUERY["abandon"], **values):
            raise Fenced(f"{session.key} belongs to another process now")

    async def since(self, key: SessionKey, position: int) -> Sequence[Event]:
        found = await self._readers.fetch(QUERY["since"], key=key, position=position, limit=None)
        return [decode_event(event) for (event,) in found]

    async def lines(self, spans: Sequence[Span]) -> Sequence[Line]:
        found = await self._readers.fetch(
            QUERY["lines"],
            session=[span.session for span in spans],
            start=[span.start for span in spans],
            stop=[span.stop for span in spans],
        )
        return [decode_line(line) for (line,) in found]

    async def append(self, commit: Commit, *, fence: Fence) -> int:
        operation = append_of(commit, fence, asyncio.get_running_loop().create_future())
        self._writer.put(operation)
        return await operation.done

    async def rest(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._writer.put(
            RestOperation(lane=key, done=done, key=key, position=position, fence=fence)
        )
        return await done

    async def decline(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        where = {"key": key, "position": position, "node": fence.node, "epoch": fence.epoch}
        [(given,)] = await self._control.fetch(QUERY["decline"], **where)
        return bool(given)

    async def release(self, keys: Sequence[SessionKey], *, node: NodeId) -> None:
        await self._control.fetch(QUERY["release"], keys=list(keys), node=node)
