"""Replies on their way out. `sending` is durable before the first byte leaves."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import apsw
from msgspec import json

from hermes.core.codec import decode_reply
from hermes.core.ids import NodeId, ReplyId, SessionKey
from hermes.core.messages import sound
from hermes.core.store import OutboxRow, SendState
from hermes.stores.listing import readable
from hermes.stores.sqlite.nodes import is_buried
from hermes.stores.sqlite.reader import Reader, rows
from hermes.stores.sqlite.writer import Writer

_STATES: dict[str, SendState] = {
    "pending": "pending",
    "sending": "sending",
    "delivered": "delivered",
    "failed": "failed",
    "abandoned": "abandoned",
}
# Only who has the row in hand may say what became of it.
MINE = "WHERE reply = ? AND node = ? AND state <> 'delivered'"
UNDECIDED = "state <> 'abandoned'"  # who is sent away is so while something is being sent to them
COLUMNS = "body, state, attempts, chunks, created_at, receipt, problem, behind"
# A wait that lies days ahead was counted before the clock was set back.
OPEN = """
    ((state IN ('pending', 'failed') AND (not_before <= :now OR not_before > :now + 86400))
     OR (state = 'sending' AND node NOT IN (SELECT id FROM nodes WHERE buried = 0)))
    AND NOT EXISTS (
        SELECT 1 FROM pauses p WHERE p.platform = outbox.platform AND p.chat = outbox.chat
        AND p.until > :now AND p.until <= :now + 86400)
"""
OVER = "DELETE FROM pauses WHERE until <= :now OR until > :now + 86400"
PAUSE = """
INSERT INTO pauses VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET until = excluded.until WHERE excluded.until > until
"""
WAITS = "SELECT platform, chat, until FROM pauses WHERE until > :now AND until <= :now + 86400"
TAKE = (
    """
UPDATE outbox SET state = 'sending', node = :node, attempts = attempts + 1, behind = :behind
WHERE reply = :reply AND """
    + OPEN
)
RECENT_ROWS = 10_000
HAS_RECEIPT = """
SELECT 1 FROM outbox WHERE n > (SELECT max(n) FROM outbox) - ?
AND platform = ? AND chat = ? AND receipt = ? LIMIT 1
"""


class SqliteOutbox:
    def __init__(self, writer: Writer, reader: Reader, clock: Callable[[], float]) -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._in_hand: dict[ReplyId, NodeId] = {}

    async def due(
        self, platforms: Sequence[str], *, now: float, limit: int, only: SessionKey | None = None
    ) -> Sequence[OutboxRow]:
        lane = "AND session = (SELECT n FROM sessions WHERE key = :key)" if only else ""
        sql = f"""SELECT {COLUMNS} FROM outbox WHERE state IN ('pending', 'sending', 'failed')
                  AND {OPEN} AND platform IN (SELECT value FROM json_each(:platforms)) {lane}
                  ORDER BY n LIMIT :limit"""
        names = json.encode(list(platforms)).decode()
        values = {"platforms": names, "now": now, "limit": limit, "key": only}
        return self._reader.now(lambda db: readable(_row, rows(db, sql, values)))

    async def sending(self, reply: ReplyId, *, node: NodeId, behind: str = "") -> bool:
        values = {"node": node, "reply": reply, "behind": sound(behind)}

        def work(db: apsw.Cursor) -> bool:
            if is_buried(db, node):
                return False
            db.execute(TAKE, {**values, "now": self._clock()})
            return db.connection.changes() == 1

        taken = await self._writer.write(work)
        if taken:
            self._in_hand[reply] = node
        return taken

    async def has_receipt(self, platform: str, chat: str, receipt: str) -> bool:
        values = (RECENT_ROWS, platform, chat, receipt)
        return bool(self._reader.now(lambda db: list(rows(db, HAS_RECEIPT, values))))

    async def pause(self, platform: str, chat: str, *, until: float) -> None:
        def work(db: apsw.Cursor) -> None:
            db.execute(OVER, {"now": self._clock()})
            db.execute(PAUSE, (platform, chat, until))

        await self._writer.write(work)

    async def waits(self, *, now: float) -> Mapping[tuple[str, str], float]:
        found = self._reader.now(lambda db: rows(db, WAITS, {"now": now}))
        return {(platform, chat): until for platform, chat, until in found}

    async def sent_chunks(self, reply: ReplyId, count: int, *, receipt: str = "") -> None:
        sql = f"UPDATE outbox SET chunks = ?, receipt = coalesce(?, receipt) {MINE}"
        node = self._in_hand.get(reply)
        await self._note(sql, (count, sound(receipt) or None, reply, node))

    async def delivered(self, reply: ReplyId, receipt: str, *, at: float) -> None:
        sql = f"""UPDATE outbox SET state = 'delivered', receipt = coalesce(?, receipt),
                  sent_at = ?, problem = NULL {MINE}"""
        node = self._in_hand.pop(reply, None)
        await self._note(sql, (sound(receipt) or None, at, reply, node))

    async def failed(self, reply: ReplyId, why: str, *, not_before: float, abandon: bool) -> None:
        state = "abandoned" if abandon else "failed"
        sql = f"UPDATE outbox SET state = ?, problem = ?, not_before = ? {MINE} AND {UNDECIDED}"
        await self._note(sql, (state, sound(why), not_before, reply, self._in_hand.get(reply)))

    async def _note(self, sql: str, values: tuple[str | float | None, ...]) -> None:
        await self._writer.write(lambda db: db.execute(sql, values))

    async def rows(self, key: SessionKey, *, limit: int) -> Sequence[OutboxRow]:
        sql = f"""SELECT {COLUMNS} FROM outbox
                  WHERE session = (SELECT n FROM sessions WHERE key = ?) ORDER BY n DESC LIMIT ?"""
        return self._reader.now(lambda db: [_row(*row) for row in rows(db, sql, (key, limit))])


def _row(*row: Any) -> OutboxRow:
    body, state, attempts, chunks, created_at, receipt, problem, behind = row
    return OutboxRow(
        reply=decode_reply(body.encode()),
        state=_STATES[state],
        attempts=attempts,
        chunks_sent=chunks,
        created_at=created_at,
        receipt=receipt or "",
        problem=problem or "",
        behind=behind,
    )
