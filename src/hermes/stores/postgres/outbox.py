"""Replies on their way out. `sending` is durable before the first byte leaves."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes.core.codec import decode_reply
from hermes.core.ids import NodeId, ReplyId, SessionKey
from hermes.core.messages import Reply, sound
from hermes.core.outbox import OutboxRow
from hermes.stores.listing import readable
from hermes.stores.postgres.connections import PooledConnection, Readers
from hermes.stores.postgres.outgoing import Noted, Sending
from hermes.stores.postgres.reach import PlatformReach
from hermes.stores.postgres.statements import QUERY
from hermes.stores.postgres.writer import PostgresWriter


class PostgresOutbox:
    def __init__(
        self,
        writer: PostgresWriter,
        readers: Readers,
        control: PooledConnection,
        reach: PlatformReach,
        clock: Callable[[], float],
    ) -> None:
        self._writer = writer
        self._readers = readers
        self._control = control
        self._reach = reach
        self._clock = clock
        self._in_hand: dict[ReplyId, NodeId] = {}  # so that another node's row is left alone

    async def due(
        self,
        platforms: Sequence[str],
        *,
        now: float,
        limit: int,
        only: SessionKey | None = None,
        mine: NodeId | None = None,
    ) -> Sequence[OutboxRow]:
        self._reach.ask(platforms, whole=only is None)
        which = {"platforms": list(platforms), "only": only, "mine": mine}
        found = await self._readers.fetch(QUERY["due"], **which, now=now, limit=limit)
        return readable(_row, found)

    async def at_once(self, platforms: Sequence[str]) -> None:
        await self._control.fetch(QUERY["at_once"], platforms=list(platforms))

    async def pause(self, platform: str, chat: str, *, until: float) -> None:
        where = {"platform": sound(platform), "chat": sound(chat)}
        await self._control.fetch(QUERY["pause"], **where, until=until, now=self._clock())

    async def waits(self, *, now: float) -> Mapping[tuple[str, str], float]:
        found = await self._readers.fetch(QUERY["waits"], now=now)
        return {(platform, chat): until for platform, chat, until in found}

    async def sending(
        self,
        reply: ReplyId,
        *,
        node: NodeId,
        chunk: int = 0,
        behind: str = "",
        mine: bool = False,
    ) -> bool:
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        operation = Sending(
            lane=f"outbox {reply}",
            done=done,
            reply=reply,
            node=node,
            behind=behind,
            chunk=chunk,
            mine=mine,
        )
        self._writer.put(operation)
        taken = await done
        if taken:
            self._in_hand[reply] = node
        return taken

    async def has_receipt(self, platform: str, chat: str, receipt: str) -> bool:
        where = {"platform": sound(platform), "chat": sound(chat), "receipt": sound(receipt)}
        [(found,)] = await self._readers.fetch(QUERY["has_receipt"], **where)
        return bool(found)

    async def cards(self, platform: str, chat: str, *, limit: int) -> Sequence[Reply]:
        where = {"platform": sound(platform), "chat": sound(chat), "limit": limit}
        found = await self._readers.fetch(QUERY["cards"], **where)
        return [decode_reply(reply) for (reply,) in found]

    async def sent_chunks(self, reply: ReplyId, count: int, *, receipt: str = "") -> None:
        note = self._noted(reply, state="pending", chunks=count, why="", receipt=receipt or None)
        await self._note(note)

    async def delivered(self, reply: ReplyId, receipt: str, *, at: float) -> None:
        await self._note(self._noted(reply, state="delivered", receipt=receipt, why="", at=at))
        self._in_hand.pop(reply, None)

    async def failed(
        self, reply: ReplyId, why: str, *, not_before: float, abandon: bool, counts: bool = True
    ) -> None:
        state = "abandoned" if abandon else "failed"
        fate = {"state": state, "why": why, "not_before": not_before, "counts": counts}
        await self._note(self._noted(reply, **fate))
        self._in_hand.pop(reply, None)

    async def rows(self, key: SessionKey, *, limit: int) -> Sequence[OutboxRow]:
        found = await self._readers.fetch(QUERY["outbox_rows"], key=key, limit=limit)
        return [_row(*row) for row in found]

    def _noted(self, reply: ReplyId, **change: Any) -> Noted:
        return Noted(
            lane=f"outbox {reply}",
            done=asyncio.get_running_loop().create_future(),
            reply=reply,
            node=self._in_hand.get(reply),
            **change,
        )

    async def _note(self, operation: Noted) -> None:
        self._writer.put(operation)
        await operation.done


def _row(*row: Any) -> OutboxRow:
    reply, state, attempts, chunks, created_at, receipt, why, behind = row
    return OutboxRow(
        reply=decode_reply(reply),
        state=state,
        attempts=attempts,
        chunks_sent=chunks,
        created_at=created_at,
        receipt=receipt,
        problem=why,
        behind=behind,
    )
