"""Sessions in SQLite: accept, claim, append, rest. Each is one job in a group commit."""

from collections.abc import Callable, Sequence

import apsw
from msgspec import Struct

from hermes.core.codec import encode, kind_of
from hermes.core.errors import Fenced, Outdated, Refused
from hermes.core.events import Event, MessageReceived, Span
from hermes.core.ids import NodeId, SessionId, SessionKey
from hermes.core.messages import Inbound, Line
from hermes.core.projection import Commit, Written
from hermes.core.salvage import folded
from hermes.core.session import Session
from hermes.core.store import Accepted, Claim, Fence
from hermes.stores.listing import homes_of, snapshot_of
from hermes.stores.sqlite.audit import SqliteChain
from hermes.stores.sqlite.chains import Scroll, add_event, events_after, read_lines, records_after
from hermes.stores.sqlite.directory import see_chat, set_homes
from hermes.stores.sqlite.nodes import SqliteNodes, demand_alive
from hermes.stores.sqlite.questions import add_questions
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.trust import add_grants, version
from hermes.stores.sqlite.usage import add_usage
from hermes.stores.sqlite.writer import SqliteWriter

READY = """
SELECT n, key FROM sessions
WHERE ready = 1 AND owner IS NULL AND declined IS NOT ?
ORDER BY updated_at LIMIT ?
"""
OWNED = """
SELECT key, epoch, head FROM sessions WHERE ready = 1 AND owner = ? ORDER BY updated_at LIMIT ?
"""
FENCED = """
SELECT n, head, written, tail, id, conversation, row_tail, waiting, ready, busy
FROM sessions WHERE key = ? AND owner = ? AND epoch = ?
"""
ADD_REPLY = """
INSERT INTO outbox (reply, session, platform, chat, body, created_at, ordered)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
ADD_TURN = """
INSERT INTO turns (id, session, conversation, state, attempts, started_at, ended_at, first)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    state = excluded.state, attempts = excluded.attempts, ended_at = excluded.ended_at
"""
UPDATE_SESSION = """
UPDATE sessions SET
    head = ?, written = ?, tail = ?, id = ?, conversation = ?, row_tail = ?,
    row_at = coalesce(?, row_at),
    phase = ?, mark = ?, runs = ?, title = ?, rows = ?, waiting = ?, updated_at = ?,
    due_at = ?
WHERE n = ?
"""
HEARD = """
UPDATE sessions SET head = ?, tail = ?, waiting = waiting + 1, updated_at = ?, declined = NULL
WHERE n = ?
"""
TAKE = "UPDATE sessions SET owner = ?, epoch = ?, declined = NULL WHERE n = ?"
# Of a conversation that was left because it cannot be read.
ABANDON_TURNS = """
UPDATE turns SET state = 'failed', ended_at = ?
WHERE session = ? AND state NOT IN ('answered', 'failed', 'stopped')
"""
ABANDON_QUESTIONS = "DELETE FROM questions WHERE session = ? AND state = 'pending'"
ABANDON = (
    "UPDATE sessions SET phase = 'idle', mark = '', runs = 0, due_at = 0, waiting = ? WHERE n = ?"
)
# Apart from the rest of the row: each is the condition of an index.
STIR = "UPDATE sessions SET ready = ?, busy = ? WHERE n = ?"


class SqliteJournal:
    def __init__(
        self,
        writer: SqliteWriter,
        reader: SqliteReader,
        nodes: SqliteNodes,
        clock: Callable[[], float],
        chain: SqliteChain,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._nodes = nodes
        self._clock = clock
        self._chain = chain

    async def accept(self, inbound: Inbound, *, opens: SessionId) -> Accepted:
        event = MessageReceived(inbound, opens)
        row = Written(kind_of(event), encode(event), inbound.at)
        now = self._clock()
        accepted = await self._writer.write(lambda db: _accept(db, inbound, opens, row, now))
        if accepted.fresh:
            self._nodes.bell.ring()
        return accepted

    async def claim(
        self, node: NodeId, *, limit: int, only: SessionKey | None = None
    ) -> Sequence[Claim]:
        def work(db: apsw.Cursor) -> Sequence[Claim]:
            demand_alive(db, node)
            self._nodes.bury_dead(db)
            return _claim_one(db, node, only) if only else _claim_ready(db, node, limit)

        return await self._writer.write(work)

    async def owned(self, node: NodeId, *, limit: int) -> Sequence[Claim]:
        found = self._reader.now(lambda db: rows(db, OWNED, (node, limit)))
        return [Claim(SessionKey(key), epoch, head) for key, epoch, head in found]

    async def load(self, key: SessionKey) -> Session:
        return self._reader.now(lambda db: load_session(db, key))

    async def abandon(self, session: Session, *, fence: Fence) -> None:
        await self._writer.write(lambda db: _abandon(db, session, fence))

    async def since(self, key: SessionKey, position: int) -> Sequence[Event]:
        return self._reader.now(lambda db: events_after(db, _number(db, key), position))

    async def lines(self, spans: Sequence[Span]) -> Sequence[Line]:
        return await self._reader.later(lambda db: read_lines(db, spans))

    async def append(self, commit: Commit, *, fence: Fence) -> int:
        head = await self._writer.write(lambda db: _append(db, commit, fence, self._chain))
        if _is_awaited(commit):
            self._nodes.bell.ring()
        return head

    async def rest(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        def work(db: apsw.Cursor) -> bool:
            stand = _check_fence(db, key, fence)
            done = stand.head == position
            if done:
                db.execute("UPDATE sessions SET ready = 0 WHERE n = ?", (stand.number,))
            return done

        return await self._writer.write(work)

    async def decline(self, key: SessionKey, position: int, *, fence: Fence) -> bool:
        def work(db: apsw.Cursor) -> bool:
            stand = _check_fence(db, key, fence)
            done = stand.head == position
            if done:
                sql = "UPDATE sessions SET owner = NULL, declined = ? WHERE n = ?"
                db.execute(sql, (fence.node, stand.number))
            return done

        given = await self._writer.write(work)
        if given:
            self._nodes.bell.ring()
        return given

    async def release(self, keys: Sequence[SessionKey], *, node: NodeId) -> None:
        def work(db: apsw.Cursor) -> None:
            sql = "UPDATE sessions SET owner = NULL WHERE key = ? AND owner = ?"
            db.executemany(sql, [(key, node) for key in keys])

        await self._writer.write(work)
        self._nodes.bell.ring()


def load_session(db: apsw.Cursor, key: SessionKey) -> Session:
    number = _number(db, key)
    found = rows(db, "SELECT state FROM snapshots WHERE session = ?", (number,))
    base = snapshot_of(key, found[0][0] if found else None)
    return folded(base, records_after(db, number, base.position))


def add_turns(db: apsw.Cursor, number: int, commit: Commit, shift: int) -> None:
    for turn in commit.turns:
        times = (turn.started_at, turn.ended_at, turn.first + shift)
        db.execute(ADD_TURN, (turn.id, number, turn.session, turn.state, turn.attempts, *times))


def is_busy(phase: str, waiting: int) -> bool:
    return phase != "idle" or waiting > 0


def _number(db: apsw.Cursor, key: SessionKey) -> int:
    return int(db.execute("SELECT n FROM sessions WHERE key = ?", (key,)).get or 0)


def _accept(
    db: apsw.Cursor,
    inbound: Inbound,
    opens: SessionId,
    event: Written,
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
    sql = "SELECT n, head + 1, tail, ready AND busy FROM sessions WHERE key = ?"
    number, position, tail, astir = rows(db, sql, (inbound.session,))[0]
    place = add_event(db, number, tail, position, event)
    db.execute(HEARD, (position, place, now, number))
    if not astir:
        db.execute(STIR, (1, 1, number))
    db.execute("INSERT INTO inbox VALUES (?, ?, ?, ?)", (*name, number, position))
    if position == 1:
        scroll = Scroll(number)
        scroll.turn_to(db, opens)
        sql = "UPDATE sessions SET conversation = ? WHERE n = ?"
        db.execute(sql, (scroll.conversation, number))
    if inbound.place:
        see_chat(db, number, inbound)
    return Accepted(fresh=True, key=inbound.session, position=position)


def _claim_ready(db: apsw.Cursor, node: NodeId, limit: int) -> list[Claim]:
    ready = rows(db, READY, (node, limit))
    return [Claim(SessionKey(key), _take(db, node, number)) for number, key in ready]


def _claim_one(db: apsw.Cursor, node: NodeId, key: SessionKey) -> list[Claim]:
    sql = "SELECT n, owner, epoch FROM sessions WHERE key = ?"
    for number, owner, epoch in rows(db, sql, (key,)):
        if owner == node:
            return [Claim(key, epoch)]
        if owner is None:
            return [Claim(key, _take(db, node, number))]
    return []


def _take(db: apsw.Cursor, node: NodeId, number: int) -> int:
    epoch = int(rows(db, "UPDATE epochs SET last = last + 1 RETURNING last")[0][0])
    db.execute(TAKE, (node, epoch, number))
    return epoch


class _Stand(Struct, frozen=True):
    """The stored state of a session, for its owner."""

    number: int
    head: int
    written: int
    tail: int
    id: str
    conversation: int
    row_tail: int
    waiting: int
    ready: int
    busy: int


def _check_fence(db: apsw.Cursor, key: SessionKey, fence: Fence) -> _Stand:
    """Return the session's state. Raise Fenced when the session or the node has been taken over."""
    found = rows(db, FENCED, (key, fence.node, fence.epoch))
    if not found:
        raise Fenced(f"{key} belongs to another process now")
    return _Stand(*found[0])


def _abandon(db: apsw.Cursor, session: Session, fence: Fence) -> None:
    stand = _check_fence(db, session.key, fence)
    at = session.waiting[-1].at if session.waiting else 0.0
    db.execute(ABANDON_TURNS, (at, stand.number))
    db.execute(ABANDON_QUESTIONS, (stand.number,))
    waiting = len(session.waiting) + stand.head - session.position
    db.execute(ABANDON, (waiting, stand.number))
    db.execute(STIR, (1, is_busy("idle", waiting), stand.number))


def _append(db: apsw.Cursor, commit: Commit, fence: Fence, chain: SqliteChain) -> int:
    stand = _check_fence(db, commit.key, fence)
    number, head, tail = stand.number, stand.head, stand.tail
    if not stand.written <= commit.base <= head:
        raise Refused(f"{commit.key}: the commit is not made from the session's latest state")
    if commit.trust_version is not None and commit.trust_version != version(db):
        raise Outdated(f"{commit.key}: who may do what has changed meanwhile")
    add_turns(db, number, commit, shift=head - commit.base)
    add_usage(db, number, commit, head)
    for event in commit.events:
        head += 1
        tail = add_event(db, number, tail, head, event)
    scroll = Scroll(number, stand.id, stand.conversation, stand.row_tail)
    scroll.write(db, commit)
    for reply in commit.replies:
        where, body = reply.address, encode(reply).decode()
        there = (reply.id, number, where.platform, where.chat)
        db.execute(ADD_REPLY, (*there, body, commit.at, reply.kind != "removal"))
    if commit.homes:
        set_homes(db, number, homes_of(commit), tail)
    add_questions(db, number, commit)
    if commit.grants:
        add_grants(db, commit)
    if commit.audit:
        chain.write(db, commit.audit)
    s = commit.summary
    waiting = stand.waiting - s.taken
    place = (head, head, tail, s.id, scroll.conversation, scroll.tail, scroll.at)
    shown = (s.phase, s.mark, s.runs, s.title, s.rows, waiting, commit.at, s.due_at)
    db.execute(UPDATE_SESSION, (*place, *shown, number))
    ready = not commit.rests or head != commit.after.position
    busy = is_busy(s.phase, waiting)
    if ready != stand.ready or busy != stand.busy:
        db.execute(STIR, (ready, busy, number))
    if commit.snapshot and head == commit.after.position:
        row = (number, head, encode(commit.after))
        db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", row)
    return head


def _is_awaited(commit: Commit) -> bool:
    """Return True if another process may be waiting for this commit, to send it, to show it, or for
    an answer."""
    over = any(turn.state != "running" for turn in commit.turns)
    return bool(commit.replies or commit.summary.taken or commit.grants or over)
