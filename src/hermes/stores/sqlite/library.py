"""Listings and search over all sessions. All tables here can be rebuilt from the journal."""

import time
from collections import Counter
from collections.abc import Sequence

import apsw

from hermes.core.codec import decode_line
from hermes.core.errors import Rejected
from hermes.core.events import Event, Span
from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.messages import sound
from hermes.core.projection import QuestionRow, TurnRow
from hermes.core.recall import Scope
from hermes.core.store import (
    ChatRow,
    ConversationRow,
    Counts,
    Found,
    Home,
    SessionRow,
    Spending,
    UsageSum,
)
from hermes.stores.hits import SearchRequest
from hermes.stores.listing import conversation_row, session_row, turn_row
from hermes.stores.sqlite.chains import events_after, records_after
from hermes.stores.sqlite.directory import chats, homes
from hermes.stores.sqlite.nodes import SqliteNodes
from hermes.stores.sqlite.questions import overdue, question, questions
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.rebuild import rebuild_all
from hermes.stores.sqlite.search import index_messages, is_unread, search
from hermes.stores.sqlite.usage import UNNAME, spent, usage
from hermes.stores.sqlite.writer import SqliteWriter, whole_or_nothing
from hermes.stores.words import parse_query

INDEX_ROWS = 5_000
READING_MAX_S = 2.0  # before one search; beats do the rest
SESSION = """
SELECT key, id, phase, mark, runs, waiting, title, created_at, updated_at, head, rows FROM sessions
"""
EXACTLY = """
WHERE key = ? OR n = (SELECT session FROM conversations WHERE id = ?) ORDER BY key = ? DESC LIMIT 1
"""
TURN = """
SELECT t.id, s.key, t.conversation, t.state, t.attempts, t.started_at, t.ended_at, t.first
FROM turns t JOIN sessions s ON s.n = t.session
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
DELETE FROM message_index
WHERE rowid IN (SELECT n FROM line WHERE n <= (SELECT upto FROM indexed))
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
    "DELETE FROM chats WHERE session = ?1",
    "DELETE FROM homes WHERE session = ?1",
    "DELETE FROM tool_calls WHERE session = ?1",
    "DELETE FROM questions WHERE session = ?1",
    "DELETE FROM jobs WHERE session = ?1",
    UNNAME,
    "DELETE FROM sessions WHERE n = ?1",
)
# The highest numbers may be used again after a deletion: what gets them is not indexed yet.
INDEXED = """
UPDATE indexed SET upto = min(upto, (SELECT coalesce(max(n), 0) FROM messages))
"""
MISSING = "UPDATE missing SET sessions = (SELECT coalesce(max(n), 0) - count(*) FROM sessions)"
CONVERSATIONS = """
SELECT c.id, c.key, c.title, (SELECT ordinal + 1 FROM messages m WHERE m.n = c.last), c.at,
       (SELECT line FROM messages m WHERE m.n = c.opening)
FROM (
    SELECT c.id, s.key, c.opening,
           iif(s.conversation = c.n, s.title, c.title) AS title,
           iif(s.conversation = c.n, s.row_at, c.at) AS at,
           iif(s.conversation = c.n, s.row_tail, c.tail) AS last
    FROM conversations c JOIN sessions s ON s.n = c.session
    WHERE last > 0 AND {which} ORDER BY at DESC, c.id LIMIT :limit
) c ORDER BY c.at DESC, c.id
"""
OUTBOX = """
SELECT state, count(*), min(created_at) FROM outbox
WHERE state IN ('pending', 'sending', 'failed') GROUP BY state
"""
ABANDONED = "SELECT count(*) FROM outbox WHERE state = 'abandoned'"
SESSIONS = "SELECT coalesce(max(n), 0) - (SELECT sessions FROM missing) FROM sessions"
BUSY = (
    "SELECT phase, mark, count(*), sum(waiting) FROM sessions WHERE busy = 1 GROUP BY phase, mark"
)


class SqliteLibrary:
    def __init__(self, writer: SqliteWriter, reader: SqliteReader, nodes: SqliteNodes) -> None:
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

    async def records(self, key: SessionKey, *, after: int, limit: int) -> Sequence[bytes]:
        def look(db: apsw.Cursor) -> list[bytes]:
            number = db.execute("SELECT n FROM sessions WHERE key = ?", (key,)).get
            return records_after(db, number or 0, after)[:limit]

        return await self._reader.later(look)

    async def search(
        self, question: str, *, scope: Scope, limit: int, hidden: Sequence[Span] = ()
    ) -> Found:
        meant = parse_query(question)
        if not meant.wanted:
            return Found(notes=meant.notes)
        read = await _read_all(self._writer, self._reader)
        wanted = SearchRequest(question=meant, scope=scope, limit=limit, hidden=tuple(hidden))
        hits, whole = await self._reader.later(lambda db: search(db, wanted))
        return wanted.found(hits, read=read, whole=whole)

    async def conversations(
        self, key: SessionKey | None, *, limit: int
    ) -> Sequence[ConversationRow]:
        sql = CONVERSATIONS.format(which="s.key = :key" if key else "TRUE")
        values = {"key": key, "limit": limit}
        found = await self._reader.later(lambda db: rows(db, sql, values))
        return [conversation_row(*row, _text(line)) for *row, line in found]

    async def in_phase(self, phase: str, *, limit: int) -> Sequence[SessionRow]:
        sql = f"{SESSION} WHERE busy = 1 AND phase = ? ORDER BY updated_at DESC LIMIT ?"
        found = await self._reader.later(lambda db: rows(db, sql, (phase, limit)))
        return [session_row(*row) for row in found]

    async def chats(self, *, limit: int) -> Sequence[ChatRow]:
        return await self._reader.later(lambda db: chats(db, limit))

    async def homes(self) -> Sequence[Home]:
        return self._reader.now(homes)

    async def counts(self) -> Counts:
        return self._reader.now(_counts)

    async def questions(self, *, limit: int, pending: bool = False) -> Sequence[QuestionRow]:
        return await self._reader.later(lambda db: questions(db, limit, pending))

    async def question(self, id_: str) -> QuestionRow | None:
        return self._reader.now(lambda db: question(db, id_))

    async def overdue(self, now: float, *, limit: int) -> Sequence[SessionKey]:
        return self._reader.now(lambda db: overdue(db, now, limit))

    async def usage(self, *, since: float, until: float, limit: int = 1_000) -> Spending:
        return await self._reader.later(lambda db: usage(db, since, until, limit))

    async def spent(
        self,
        *,
        since: float,
        key: SessionKey | None = None,
        conversation: SessionId | None = None,
        person: str | None = None,
    ) -> Sequence[UsageSum]:
        return await self._reader.later(lambda db: spent(db, since, key, conversation, person))

    async def delete(self, key: SessionKey) -> bool:
        def work(db: apsw.Cursor) -> bool:
            self._nodes.bury_dead(db)
            sql = "SELECT n, owner IS NOT NULL AND ready FROM sessions WHERE key = ?"
            for number, busy in rows(db, sql, (key,)):
                if busy:
                    raise Rejected(f"{key} is running. Stop its turn first, then delete it.")
                for statement in DELETE:
                    db.execute(statement, (number,))
                db.execute(INDEXED)
                db.execute(MISSING)
                return True
            return False

        return await self._writer.write(work)

    async def rebuild(self) -> None:
        await self._writer.write(whole_or_nothing(rebuild_all))


async def _read_all(writer: SqliteWriter, reader: SqliteReader) -> bool:
    """Index all rows that are not indexed yet, unless there are very many. Return True if none is
    left."""
    deadline = time.monotonic() + READING_MAX_S
    while reader.now(is_unread):
        if time.monotonic() > deadline:
            return False
        await writer.write(lambda db: index_messages(db, INDEX_ROWS))
    return True


def _find(db: apsw.Cursor, name: str) -> SessionRow | None:
    found = rows(db, f"{SESSION} {EXACTLY}", (name, name, name))
    if not found and name:
        sql = f"""{SESSION} WHERE n IN (SELECT session FROM conversations
                  WHERE substr(id, 1, ?) = ?) OR substr(id, 1, ?) = ? LIMIT 2"""
        found = rows(db, sql, (len(name), name, len(name), name))
    return session_row(*found[0]) if len(found) == 1 else None


def _counts(db: apsw.Cursor) -> Counts:
    """Return the counts. It reads only busy and open rows, however many others there are."""
    phases, marks, outbox = Counter[str](), Counter[str](), Counter[str]()
    queued, oldest = 0, list[float]()
    for phase, mark, count, waiting in rows(db, BUSY):
        phases[phase] += count
        marks[mark] += count
        queued += waiting
    for state, count, created_at in rows(db, OUTBOX):
        outbox[state] = count
        oldest.append(created_at)
    if abandoned := int(db.execute(ABANDONED).get):
        outbox["abandoned"] = abandoned
    del marks[""]
    return Counts(
        sessions=int(db.execute(SESSIONS).get),
        running=phases["running"],
        asking=phases["asking"],
        suspended=phases["suspended"],
        queued=queued,
        marks=dict(marks),
        outbox=dict(outbox),
        outbox_oldest_at=min(oldest, default=None),
    )


def _text(line: str | None) -> str:
    return "" if line is None else decode_line(line.encode()).text
