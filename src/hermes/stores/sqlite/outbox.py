"""Replies on their way out. `sending` is durable before the first byte leaves."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import apsw
from msgspec import json

from hermes.core.codec import decode_reply
from hermes.core.ids import NodeId, ReplyId, SessionKey
from hermes.core.messages import Reply, sound
from hermes.core.outbox import OutboxRow, SendState
from hermes.stores.listing import readable
from hermes.stores.sqlite.nodes import is_buried
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.writer import SqliteWriter

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
WAITING = "state IN ('pending', 'sending', 'failed')"
# A wait that lies days ahead was counted before the clock was set back.
DUE = """
    (({0}.state IN ('pending', 'failed')
      AND ({0}.not_before <= :now OR {0}.not_before > :now + 86400))
     OR ({0}.state = 'sending'
         AND ({0}.node IS :mine OR {0}.node NOT IN (SELECT id FROM nodes WHERE buried = 0))))
    AND NOT EXISTS (
        SELECT 1 FROM pauses p WHERE p.platform = {0}.platform AND p.chat = {0}.chat
        AND p.until > :now AND p.until <= :now + 86400)
"""
# What was made earlier for the same chat goes first, even when it has to wait for its next try.
IN_ORDER = f"""
    (outbox.ordered = 0 OR NOT EXISTS (
        SELECT 1 FROM outbox earlier WHERE earlier.session = outbox.session
        AND earlier.n < outbox.n AND earlier.{WAITING} AND earlier.ordered = 1
        AND earlier.platform = outbox.platform AND earlier.chat = outbox.chat
        AND NOT ({DUE.format("earlier")})))
"""
OVER = "DELETE FROM pauses WHERE until <= :now OR until > :now + 86400"
PAUSE = """
INSERT INTO pauses VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET until = excluded.until WHERE excluded.until > until
"""
WAITS = "SELECT platform, chat, until FROM pauses WHERE until > :now AND until <= :now + 86400"
# As it was seen: another process may have sent a chunk of it meanwhile.
TAKE = f"""
UPDATE outbox SET state = 'sending', node = :node, behind = :behind
WHERE reply = :reply AND chunks = :chunk AND {DUE.format("outbox")}
"""
AT_ONCE = """
UPDATE outbox SET not_before = 0 WHERE state = 'failed' AND not_before > 0
AND platform IN (SELECT value FROM json_each(?))
"""
RECENT_ROWS = 10_000
HAS_RECEIPT = """
SELECT 1 FROM outbox WHERE n > (SELECT max(n) FROM outbox) - ?
AND platform = ? AND chat = ? AND receipt = ? LIMIT 1
"""
CARDS = """
SELECT body FROM outbox WHERE n > (SELECT max(n) FROM outbox) - ?
AND platform = ? AND chat = ? AND body LIKE '%"buttons":%' ORDER BY n DESC LIMIT ?
"""


class SqliteOutbox:
    def __init__(
        self, writer: SqliteWriter, reader: SqliteReader, clock: Callable[[], float]
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._in_hand: dict[ReplyId, NodeId] = {}

    async def due(
        self,
        platforms: Sequence[str],
        *,
        now: float,
        limit: int,
        only: SessionKey | None = None,
        mine: NodeId | None = None,
    ) -> Sequence[OutboxRow]:
        lane = "AND session = (SELECT n FROM sessions WHERE key = :key)" if only else ""
        sql = f"""SELECT {COLUMNS} FROM outbox WHERE {WAITING} AND {DUE.format("outbox")}
                  AND platform IN (SELECT value FROM json_each(:platforms)) {lane} AND {IN_ORDER}
                  ORDER BY n LIMIT :limit"""
        names = json.encode(list(platforms)).decode()
        values = {"platforms": names, "now": now, "limit": limit, "key": only, "mine": mine}
        return self._reader.now(lambda db: readable(_row, rows(db, sql, values)))

    async def at_once(self, platforms: Sequence[str]) -> None:
        await self._note(AT_ONCE, (json.encode(list(platforms)).decode(),))

    async def sending(
        self,
        reply: ReplyId,
        *,
        node: NodeId,
        chunk: int = 0,
        behind: str = "",
        mine: bool = False,
    ) -> bool:
        values = {"node": node, "reply": reply, "chunk": chunk, "behind": sound(behind)}
        values["mine"] = node if mine else None

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

    async def cards(self, platform: str, chat: str, *, limit: int) -> Sequence[Reply]:
        values = (RECENT_ROWS, platform, chat, limit)
        found = self._reader.now(lambda db: list(rows(db, CARDS, values)))
        return [decode_reply(body.encode()) for (body,) in found]

    async def pause(self, platform: str, chat: str, *, until: float) -> None:
        def work(db: apsw.Cursor) -> None:
            db.execute(OVER, {"now": self._clock()})
            db.execute(PAUSE, (platform, chat, until))

        await self._writer.write(work)

    async def waits(self, *, now: float) -> Mapping[tuple[str, str], float]:
        found = self._reader.now(lambda db: rows(db, WAITS, {"now": now}))
        return {(platform, chat): until for platform, chat, until in found}

    async def sent_chunks(self, reply: ReplyId, count: int, *, receipt: str = "") -> None:
        sql = f"""UPDATE outbox SET chunks = ?, receipt = coalesce(?, receipt),
                  problem = NULL, state = iif(state = 'sending', 'pending', state) {MINE}"""
        node = self._in_hand.get(reply)
        await self._note(sql, (count, sound(receipt) or None, reply, node))

    async def delivered(self, reply: ReplyId, receipt: str, *, at: float) -> None:
        sql = f"""UPDATE outbox SET state = 'delivered', receipt = coalesce(?, receipt),
                  sent_at = ?, problem = NULL {MINE}"""
        node = self._in_hand.pop(reply, None)
        await self._note(sql, (sound(receipt) or None, at, reply, node))

    async def failed(
        self, reply: ReplyId, why: str, *, not_before: float, abandon: bool, counts: bool = True
    ) -> None:
        state = "abandoned" if abandon else "failed"
        sql = f"""UPDATE outbox SET state = ?, problem = ?, not_before = ?,
                  attempts = attempts + ? {MINE} AND {UNDECIDED}"""
        mine = (reply, self._in_hand.get(reply))
        await self._note(sql, (state, sound(why), not_before, counts, *mine))

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
