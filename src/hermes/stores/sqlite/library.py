"""Listings and search over all sessions. All of it can be rebuilt from the journal."""

from collections.abc import Sequence
from typing import Any

import apsw

from hermes.core.errors import Rejected
from hermes.core.events import Event
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import sound
from hermes.core.projection import TurnRow, commit_of, summary_of
from hermes.core.session import Session
from hermes.core.store import Hit, SessionRow
from hermes.stores.listing import session_row, turn_row
from hermes.stores.sqlite.chains import Scroll, events_after
from hermes.stores.sqlite.journal import add_turns
from hermes.stores.sqlite.nodes import SqliteNodes, index_messages
from hermes.stores.sqlite.reader import Reader, rows
from hermes.stores.sqlite.writer import Writer, whole_or_nothing

TERMS_MAX = 16
INDEX_BATCH = 5_000
SESSION = """
SELECT key, id, phase, mark, runs, waiting, title, created_at, updated_at, head, rows FROM sessions
"""
TURN = """
SELECT t.id, s.key, t.conversation, t.state, t.attempts, t.started_at, t.ended_at, t.first
FROM turns t JOIN sessions s ON s.n = t.session
"""
SEARCH = """
SELECT s.key, c.id, m.ordinal, json_extract(m.line, '$.role'), json_extract(m.line, '$.at'),
       snippet(message_index, 0, '[', ']', '…', 24)
FROM message_index i
JOIN messages m ON m.n = i.rowid
JOIN conversations c ON c.n = m.conversation
JOIN sessions s ON s.n = c.session
WHERE message_index MATCH ? ORDER BY i.rank LIMIT ?
"""
CHAIN = """
WITH RECURSIVE chain (n) AS (
    SELECT tail FROM sessions WHERE n = ?1
    UNION ALL
    SELECT prev FROM chain JOIN journal USING (n)
)
"""
LINES = """
WITH RECURSIVE line (n) AS (
    SELECT CASE WHEN s.conversation = c.n THEN s.row_tail ELSE c.tail END
    FROM conversations c JOIN sessions s ON s.n = c.session WHERE c.session = ?1
    UNION ALL
    SELECT prev FROM line JOIN messages USING (n)
)
"""
FORGET = f"""{LINES}
INSERT INTO message_index (message_index, rowid, text)
SELECT 'delete', n, text FROM message_text
WHERE n IN (SELECT n FROM line) AND n <= (SELECT upto FROM indexed)
"""
DELETE = (
    FORGET,
    f"{LINES} DELETE FROM messages WHERE n IN (SELECT n FROM line)",
    f"{CHAIN} DELETE FROM journal WHERE n IN (SELECT n FROM chain)",
    "DELETE FROM conversations WHERE session = ?1",
    "DELETE FROM turns WHERE session = ?1",
    "DELETE FROM outbox WHERE session = ?1",
    "DELETE FROM inbox WHERE session = ?1",
    "DELETE FROM snapshots WHERE session = ?1",
    "DELETE FROM sessions WHERE n = ?1",
)
# The highest numbers may be used again after a deletion: what gets them is not indexed yet.
INDEXED = """
UPDATE indexed SET upto = min(upto, (SELECT coalesce(max(n), 0) FROM messages))
"""
REBUILT = """
UPDATE sessions SET conversation = ?, row_tail = ?, id = ?,
    phase = ?, mark = ?, runs = ?, title = ?, rows = ?, waiting = ?
WHERE n = ?
"""


class SqliteLibrary:
    def __init__(self, writer: Writer, reader: Reader, nodes: SqliteNodes) -> None:
        self._writer = writer
        self._reader = reader
        self._nodes = nodes

    async def sessions(self, *, limit: int, before: float | None = None) -> Sequence[SessionRow]:
        sql = f"{SESSION} WHERE ? IS NULL OR updated_at < ? ORDER BY updated_at DESC LIMIT ?"
        values = (before, before, limit)
        return await self._reader.later(
            lambda db: [session_row(*row) for row in rows(db, sql, values)]
        )

    async def find(self, name: str) -> SessionRow | None:
        if name != sound(name):
            return None
        return await self._reader.later(lambda db: _find(db, name))

    async def turns(self, *, limit: int, key: SessionKey | None = None) -> Sequence[TurnRow]:
        where = "WHERE s.key = ?" if key else "WHERE ? IS NULL"
        sql = f"{TURN} {where} ORDER BY t.started_at DESC, t.id DESC LIMIT ?"
        values = (key, limit)
        return await self._reader.later(
            lambda db: [turn_row(*row) for row in rows(db, sql, values)]
        )

    async def turn(self, turn: TurnId) -> TurnRow | None:
        found = self._reader.now(lambda db: rows(db, f"{TURN} WHERE t.id = ?", (turn,)))
        return turn_row(*found[0]) if found else None

    async def events(
        self, key: SessionKey, *, after: int = 0, limit: int = 1000
    ) -> Sequence[Event]:
        def look(db: apsw.Cursor) -> list[Event]:
            number = db.execute("SELECT n FROM sessions WHERE key = ?", (key,)).get
            return events_after(db, number or 0, after)[:limit]

        return await self._reader.later(look)

    async def search(self, words: str, *, limit: int) -> Sequence[Hit]:
        """All words must occur. Hostile queries are cut to a few words, never run as syntax."""
        terms = sound(words).replace('"', " ").split()[:TERMS_MAX]
        if not terms:
            return []
        while await self._writer.write(lambda db: index_messages(db, INDEX_BATCH)) == INDEX_BATCH:
            pass
        query = " ".join(f'"{term}"' for term in terms)
        values = (query, limit)
        return await self._reader.later(lambda db: [_hit(*row) for row in rows(db, SEARCH, values)])

    async def delete(self, key: SessionKey) -> bool:
        def work(db: apsw.Cursor) -> bool:
            self._nodes.bury_dead(db)
            sql = "SELECT n, owner IS NOT NULL AND ready FROM sessions WHERE key = ?"
            for number, busy in rows(db, sql, (key,)):
                if busy:
                    raise Rejected(f"{key} is at work. Stop its turn first, then delete it.")
                for statement in DELETE:
                    db.execute(statement, (number,))
                db.execute(INDEXED)
                return True
            return False

        return await self._writer.write(work)

    async def rebuild(self) -> None:
        await self._writer.write(whole_or_nothing(_rebuild))


def _find(db: apsw.Cursor, name: str) -> SessionRow | None:
    found = rows(db, f"{SESSION} WHERE key = ? OR id = ?", (name, name))
    if not found and name:
        sql = f"""{SESSION} WHERE n IN (SELECT session FROM conversations
                  WHERE substr(id, 1, ?) = ?) OR substr(id, 1, ?) = ? LIMIT 2"""
        found = rows(db, sql, (len(name), name, len(name), name))
    return session_row(*found[0]) if len(found) == 1 else None


def _rebuild(db: apsw.Cursor) -> None:
    for table in ("messages", "turns", "conversations"):
        db.execute(f"DELETE FROM {table}")
    for number, key in rows(db, "SELECT n, key FROM sessions ORDER BY n"):
        session, scroll = Session(key=SessionKey(key)), Scroll(number, "", 0, 0)
        for event in events_after(db, number, 0):
            commit = commit_of(session, (event,))
            add_turns(db, number, commit, shift=0)
            scroll.write(db, commit)
            session = commit.after
        s = summary_of(session)
        shown = (s.id, s.phase, s.mark, s.runs, s.title, s.rows, len(session.waiting))
        db.execute(REBUILT, (scroll.conversation, scroll.tail, *shown, number))
    db.execute("INSERT INTO message_index (message_index) VALUES ('rebuild')")
    db.execute("UPDATE indexed SET upto = (SELECT coalesce(max(n), 0) FROM messages)")


def _hit(*row: Any) -> Hit:
    key, id_, ordinal, role, at, excerpt = row
    return Hit(
        key=SessionKey(key),
        id=SessionId(id_),
        ordinal=ordinal,
        role=role,
        at=at or 0.0,
        excerpt=excerpt or "",
    )
