"""Jobs in SQLite: a row for each, written together with the event that changes it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import apsw

from hermes.core.codec import decode_event, encode, kind_of
from hermes.core.events import Event
from hermes.core.ids import SessionKey
from hermes.core.job_events import JobChange, JobSet
from hermes.core.jobs import JobRow, job_of, was_accepted
from hermes.core.messages import sound
from hermes.core.projection import Written, at_of
from hermes.lazy import LazyModule
from hermes.stores.listing import readable
from hermes.stores.sqlite.chains import Scroll, add_event, records_after
from hermes.stores.sqlite.nodes import SqliteNodes
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.writer import SqliteWriter

if TYPE_CHECKING:
    from hermes.core import job_rows
else:
    job_rows = LazyModule("hermes.core.job_rows")

PUT = """
INSERT INTO jobs (id, session, state, made_at, cursor, due_at, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET session = excluded.session, state = excluded.state,
    made_at = excluded.made_at, cursor = excluded.cursor, due_at = excluded.due_at,
    body = excluded.body
"""
JOB = "SELECT body FROM jobs WHERE id = ?"
JOBS = "SELECT body FROM jobs WHERE state <> 'removed' OR ? ORDER BY made_at, id LIMIT ?"
DUE = "SELECT body FROM jobs WHERE due_at <= ? ORDER BY due_at, id LIMIT ?"
AHEAD = "SELECT body FROM jobs WHERE state = 'active' AND cursor > ? ORDER BY id LIMIT ?"
NEXT = "SELECT min(due_at) FROM jobs WHERE due_at IS NOT NULL"
OPEN = "INSERT OR IGNORE INTO sessions (key, id, created_at, updated_at) VALUES (?, ?, ?, ?)"
HEAD = "SELECT n, head + 1, tail FROM sessions WHERE key = ?"
MOVE = "UPDATE sessions SET head = ?, tail = ?, updated_at = ? WHERE n = ?"


class SqliteJobs:
    def __init__(
        self,
        writer: SqliteWriter,
        reader: SqliteReader,
        nodes: SqliteNodes,
        clock: Callable[[], float],
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._nodes = nodes
        self._clock = clock
        self._changed = asyncio.Event()

    async def change(self, key: SessionKey, event: JobChange, *, seen: int | None = None) -> JobRow:
        now = self._clock()
        row = await self._writer.write(lambda db: _change(db, key, event, seen, now))
        self._nodes.bell.ring()
        self._changed.set()
        return row

    async def advance(self, key: SessionKey, due: float) -> JobRow | None:
        def work(db: apsw.Cursor) -> JobRow | None:
            row = _job(db, job_of(key))
            if row is None or (after := was_accepted(row, due)) is row:
                return row
            _put(db, _session(db, key), after)
            return after

        return await self._writer.write(work)

    async def job(self, id_: str) -> JobRow | None:
        return self._reader.now(lambda db: _job(db, id_))

    async def jobs(self, *, limit: int, removed: bool = False) -> Sequence[JobRow]:
        return await self._reader.later(lambda db: _rows(db, JOBS, (removed, limit)))

    async def due(self, now: float, *, limit: int) -> Sequence[JobRow]:
        return self._reader.now(lambda db: _rows(db, DUE, (now, limit)))

    async def ahead(self, now: float, *, limit: int) -> Sequence[JobRow]:
        return await self._reader.later(lambda db: _rows(db, AHEAD, (now, limit)))

    async def next_due(self) -> float | None:
        found = self._reader.now(lambda db: rows(db, NEXT))
        return None if found[0][0] is None else float(found[0][0])

    async def wait(self, timeout_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        self._changed.clear()

    def look_again(self) -> None:
        self._changed.set()


def rebuild_jobs(db: apsw.Cursor) -> None:
    """Rebuild the rows from the journals of the sessions that jobs have."""
    db.execute("DELETE FROM jobs")
    for number, key in rows(db, "SELECT n, key FROM sessions ORDER BY n"):
        if job_of(key):
            events = readable(decode_event, [(raw,) for raw in records_after(db, number, 0)])
            row = _folded(SessionKey(key), events)
            if row is not None:
                _put(db, number, row)


def _folded(key: SessionKey, events: Sequence[Event]) -> JobRow | None:
    row: JobRow | None = None
    for event in events:
        row = job_rows.row_after(row, key, event)
    return row


def _change(
    db: apsw.Cursor, key: SessionKey, event: JobChange, seen: int | None, now: float
) -> JobRow:
    row = job_rows.row_changed(_job(db, job_of(key)), key, event, seen)
    opens = event.opens if isinstance(event, JobSet) else ""
    db.execute(OPEN, (key, opens, now, now))
    number, position, tail = rows(db, HEAD, (key,))[0]
    written = Written(kind_of(event), encode(event), at_of(event))
    place = add_event(db, number, tail, position, written)
    db.execute(MOVE, (position, place, now, number))
    if position == 1:
        scroll = Scroll(number)
        scroll.turn_to(db, opens)
        db.execute(
            "UPDATE sessions SET conversation = ? WHERE n = ?", (scroll.conversation, number)
        )
    _put(db, number, row)
    return row


def _put(db: apsw.Cursor, session: int, row: JobRow) -> None:
    times = (row.job.created_at, row.cursor, row.due_at)
    db.execute(PUT, (sound(row.id), session, row.state, *times, job_rows.encode_row(row)))


def _session(db: apsw.Cursor, key: SessionKey) -> int:
    return int(db.execute("SELECT n FROM sessions WHERE key = ?", (key,)).get or 0)


def _job(db: apsw.Cursor, id_: str) -> JobRow | None:
    found = rows(db, JOB, (sound(id_),))
    return job_rows.decode_row(found[0][0]) if found else None


def _rows(db: apsw.Cursor, sql: str, values: tuple[object, ...]) -> list[JobRow]:
    found = rows(db, sql, values)
    return readable(job_rows.decode_row, found) if found else []
