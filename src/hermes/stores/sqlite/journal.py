"""Sessions in SQLite: accept, claim, append, rest. Each is one piece of work in a group commit."""

from collections.abc import Callable, Sequence

import apsw

from hermes.core.codec import decode_event, decode_line, decode_session, encode, kind_of
from hermes.core.errors import Fenced, Refused
from hermes.core.events import Event, MessageReceived, Span
from hermes.core.ids import NodeId, SessionId, SessionKey
from hermes.core.messages import Inbound, Line
from hermes.core.ports import Accepted, Claim, Fence
from hermes.core.projection import Commit
from hermes.core.session import Session, fold_all
from hermes.stores.sqlite.nodes import SqliteNodes, demand_alive, is_buried
from hermes.stores.sqlite.reader import Reader, rows
from hermes.stores.sqlite.writer import Writer

READY = """
SELECT n, key FROM sessions
WHERE head > settled
  AND (owner IS NULL OR owner NOT IN (SELECT id FROM nodes WHERE buried = 0))
ORDER BY updated_at LIMIT ?
"""
OWNED = """
SELECT key, epoch FROM sessions WHERE head > settled AND owner = ? ORDER BY updated_at LIMIT ?
"""
ADD_EVENT = "INSERT INTO journal (session, position, kind, event, at) VALUES (?, ?, ?, ?, ?)"
ADD_MESSAGE = "INSERT INTO messages (conversation, ordinal, line) VALUES (?, ?, ?)"
ADD_REPLY = """
INSERT INTO outbox (reply, session, platform, body, created_at) VALUES (?, ?, ?, ?, ?)
"""
ADD_TURN = """
INSERT INTO turns (id, session, conversation, state, attempts, started_at, ended_at, first)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, attempts = excluded.attempts, ended_at = excluded.ended_at
"""
UPDATE_SESSION = """
UPDATE sessions SET
    head = ?, written = ?, id = ?, phase = ?, mark = ?, runs = ?, title = ?, rows = ?,
    waiting = waiting - ?, updated_at = ?
WHERE n = ?
"""
SPAN = """
SELECT line FROM messages
WHERE conversation = (SELECT n FROM conversations WHERE id = ?) AND ordinal >= ? AND ordinal < ?
ORDER BY ordinal
"""
ORDINAL_MAX = 2**62


class SqliteJournal:
    def __init__(
        self, writer: Writer, reader: Reader, nodes: SqliteNodes, clock: Callable[[], float]
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._nodes = nodes
        self._clock = clock

    async def accept(self, inbound: Inbound, *, opens: SessionId) -> Accepted:
        event = MessageReceived(inbound, opens)
        row = (kind_of(event), encode(event), inbound.at)
        now = self._clock()
        return await self._writer.write(lambda db: _accept(db, inbound, opens, row, now))

    async def claim(
        self, node: NodeId, *, limit: int, only: SessionKey | None = None
    ) -> Sequence[Claim]:
        def work(db: apsw.Connection) -> Sequence[Claim]:
            demand_alive(db, node)
            self._nodes.bury_dead(db)
            return _claim_one(db, node, only) if only else _claim_ready(db, node, limit)

        return await self._writer.write(work)

    async def owned(self, node: NodeId, *, limit: int) -> Sequence[Claim]:
        found = self._reader.now(lambda db: rows(db, OWNED, (node, limit)))
        return [Claim(SessionKey(key), epoch) for key, epoch in found]

    async def load(self, key: SessionKey) -> Session:
        return self._reader.now(lambda db: load_session(db, key))

    async def since(self, key: SessionKey, position: int) -> Sequence[Event]:
        return self._reader.now(lambda db: events_after(db, _number(db, key), position))

    async def lines(self, spans: Sequence[Span]) -> Sequence[Line]:
        return await self._reader.later(lambda db: read_lines(db, spans))

    async def append(self, commit: Commit, *, fence: Fence) -> int:
        return await self._writer.write(lambda db: _append(db, commit, fence))

    async def rest(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        def work(db: apsw.Connection) -> bool:
            number, head, _ = _fenced(db, key, fence)
            db.execute("UPDATE sessions SET settled = ? WHERE n = ?", (position, number))
            return head == position

        return await self._writer.write(work)

    async def release(self, keys: Sequence[SessionKey], *, node: NodeId) -> None:
        def work(db: apsw.Connection) -> None:
            sql = "UPDATE sessions SET owner = NULL WHERE key = ? AND owner = ?"
            db.executemany(sql, [(key, node) for key in keys])

        await self._writer.write(work)


def load_session(db: apsw.Connection, key: SessionKey) -> Session:
    number = _number(db, key)
    found = rows(db, "SELECT state FROM snapshots WHERE session = ?", (number,))
    base = decode_session(found[0][0]) if found else Session(key=key)
    return fold_all(base, events_after(db, number, base.position))


def events_after(db: apsw.Connection, number: int, position: int) -> list[Event]:
    sql = "SELECT event FROM journal WHERE session = ? AND position > ? ORDER BY position"
    return [decode_event(raw) for (raw,) in rows(db, sql, (number, position))]


def read_lines(db: apsw.Connection, spans: Sequence[Span]) -> list[Line]:
    lines: list[Line] = []
    for span in spans:
        stop = ORDINAL_MAX if span.stop is None else span.stop
        found = rows(db, SPAN, (span.session, span.start, stop))
        lines += (decode_line(line.encode()) for (line,) in found)
    return lines


def conversation_number(db: apsw.Connection, id_: str, session: int) -> int:
    """The number of a conversation, made on first use."""
    number = db.execute("SELECT n FROM conversations WHERE id = ?", (id_,)).get
    if number is None:
        db.execute("INSERT INTO conversations (id, session) VALUES (?, ?)", (id_, session))
        number = db.last_insert_rowid()
    return int(number)


def write_projections(db: apsw.Connection, number: int, commit: Commit, shift: int) -> None:
    """Rows that a rebuild from the journal makes again, the outbox apart."""
    conversation = conversation_number(db, commit.after.id, number)
    for row in commit.rows:
        n = conversation
        if row.session != commit.after.id:
            n = conversation_number(db, row.session, number)
        db.execute(ADD_MESSAGE, (n, row.ordinal, encode(row.line).decode()))
    for turn in commit.turns:
        times = (turn.started_at, turn.ended_at, turn.first + shift)
        db.execute(ADD_TURN, (turn.id, number, turn.session, turn.state, turn.attempts, *times))


def update_summary(db: apsw.Connection, number: int, commit: Commit, head: int) -> None:
    s = commit.summary
    values = (
        head,
        head,
        s.id,
        s.phase,
        s.mark,
        s.runs,
        s.title,
        s.rows,
        s.taken,
        commit.at,
        number,
    )
    db.execute(UPDATE_SESSION, values)


def _number(db: apsw.Connection, key: SessionKey) -> int:
    return int(db.execute("SELECT n FROM sessions WHERE key = ?", (key,)).get or 0)


def _accept(
    db: apsw.Connection,
    inbound: Inbound,
    opens: SessionId,
    event: tuple[str, bytes, float],
    now: float,
) -> Accepted:
    name = (inbound.account, inbound.id)
    sql = """SELECT s.key, i.position FROM inbox i JOIN sessions s ON s.n = i.session
             WHERE account = ? AND message = ?"""
    for key, position in rows(db, sql, name):
        return Accepted(fresh=False, key=SessionKey(key), position=position)
    db.execute(
        "INSERT OR IGNORE INTO sessions (key, id, created_at, updated_at) VALUES (?, ?, ?, ?)",
        (inbound.session, opens, now, now),
    )
    sql = """UPDATE sessions SET head = head + 1, waiting = waiting + 1, updated_at = ?
             WHERE key = ? RETURNING n, head"""
    number, position = rows(db, sql, (now, inbound.session))[0]
    db.execute("INSERT INTO inbox VALUES (?, ?, ?, ?)", (*name, number, position))
    if position == 1:
        conversation_number(db, opens, number)
    db.execute(ADD_EVENT, (number, position, *event))
    return Accepted(fresh=True, key=inbound.session, position=position)


def _claim_ready(db: apsw.Connection, node: NodeId, limit: int) -> list[Claim]:
    ready = rows(db, READY, (limit,))
    return [Claim(SessionKey(key), _take(db, node, number)) for number, key in ready]


def _claim_one(db: apsw.Connection, node: NodeId, key: SessionKey) -> list[Claim]:
    sql = "SELECT n, owner, epoch FROM sessions WHERE key = ?"
    for number, owner, epoch in rows(db, sql, (key,)):
        if owner == node:
            return [Claim(key, epoch)]
        if owner is None or is_buried(db, NodeId(owner)):
            return [Claim(key, _take(db, node, number))]
    return []


def _take(db: apsw.Connection, node: NodeId, number: int) -> int:
    epoch = int(rows(db, "UPDATE epochs SET last = last + 1 RETURNING last")[0][0])
    db.execute("UPDATE sessions SET owner = ?, epoch = ? WHERE n = ?", (node, epoch, number))
    return epoch


def _fenced(db: apsw.Connection, key: SessionKey, fence: Fence) -> tuple[int, int, int]:
    """The session's number, head and last written position, if the fence still holds."""
    sql = "SELECT n, head, written, owner, epoch FROM sessions WHERE key = ?"
    for number, head, written, owner, epoch in rows(db, sql, (key,)):
        if owner == fence.node and epoch == fence.epoch:
            demand_alive(db, fence.node)
            return number, head, written
    raise Fenced(f"{key} belongs to another process now")


def _append(db: apsw.Connection, commit: Commit, fence: Fence) -> int:
    number, head, written = _fenced(db, commit.key, fence)
    if not written <= commit.base <= head:
        raise Refused(f"{commit.key}: the commit is not made from the session's latest state")
    write_projections(db, number, commit, shift=head - commit.base)
    for event in commit.events:
        head += 1
        db.execute(ADD_EVENT, (number, head, event.kind, event.body, event.at))
    for reply in commit.replies:
        platform, body = reply.address.platform, encode(reply).decode()
        db.execute(ADD_REPLY, (reply.id, number, platform, body, commit.at))
    update_summary(db, number, commit, head)
    if commit.snapshot and head == commit.after.position:
        row = (number, head, encode(commit.after))
        db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", row)
    return head
