"""Jobs in PostgreSQL: a row for each, written together with the event that changes it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from hermes.core.codec import encode, kind_of
from hermes.core.ids import SessionKey
from hermes.core.job_events import JobChange, JobSet
from hermes.core.job_rows import decode_row, encode_row, row_changed
from hermes.core.jobs import JobRow, job_of, was_accepted
from hermes.core.messages import sound
from hermes.core.projection import at_of
from hermes.stores.listing import readable
from hermes.stores.postgres.connections import Connection, PooledConnection, Readers
from hermes.stores.postgres.nodes import PostgresNodes
from hermes.stores.postgres.statements import QUERY


class PostgresJobs:
    def __init__(
        self,
        readers: Readers,
        control: PooledConnection,
        nodes: PostgresNodes,
        clock: Callable[[], float],
    ) -> None:
        self._readers = readers
        self._control = control
        self._nodes = nodes
        self._clock = clock
        self._changed = asyncio.Event()

    async def change(self, key: SessionKey, event: JobChange, *, seen: int | None = None) -> JobRow:
        opens = event.opens if isinstance(event, JobSet) else ""
        written = {"kind": kind_of(event), "event": encode(event), "at": at_of(event)}
        place = {"key": key, "opens": opens, "now": self._clock(), "shard": self._nodes.shard}
        made: list[JobRow] = []

        async def work(connection: Connection) -> JobRow:
            async with connection.transaction():
                before = await _held(connection, key, opens)
                if made and before == made[0]:  # the connection was lost behind the commit
                    return made[0]
                row = row_changed(before, key, event, seen)
                made[:] = [row]
                await connection.execute(QUERY["write_job"], {**place, **written}, binary=True)
                await connection.execute(QUERY["put_job"], job_values(row), binary=True)
                await connection.execute(QUERY["tell_all"])
                return row

        row = await self._control.run(work)
        self._changed.set()
        return row

    async def advance(self, key: SessionKey, due: float) -> JobRow | None:
        async def work(connection: Connection) -> JobRow | None:
            async with connection.transaction():
                row = await _held(connection, key, "")
                if row is None or (after := was_accepted(row, due)) is row:
                    return row
                await connection.execute(QUERY["put_job"], job_values(after), binary=True)
                return after

        return await self._control.run(work)

    async def job(self, id_: str) -> JobRow | None:
        found = await self._readers.fetch(QUERY["job"], id=sound(id_))
        return decode_row(found[0][0]) if found else None

    async def jobs(self, *, limit: int, removed: bool = False) -> Sequence[JobRow]:
        found = await self._readers.fetch(QUERY["jobs"], removed=removed, limit=limit)
        return readable(decode_row, found)

    async def due(self, now: float, *, limit: int) -> Sequence[JobRow]:
        found = await self._readers.fetch(QUERY["due_jobs"], now=now, limit=limit)
        return readable(decode_row, found)

    async def ahead(self, now: float, *, limit: int) -> Sequence[JobRow]:
        found = await self._readers.fetch(QUERY["jobs_ahead"], now=now, limit=limit)
        return readable(decode_row, found)

    async def next_due(self) -> float | None:
        [(due,)] = await self._readers.fetch(QUERY["next_due"])
        return None if due is None else float(due)

    async def wait(self, timeout_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        self._changed.clear()

    def look_again(self) -> None:
        self._changed.set()


def job_values(row: JobRow) -> dict[str, object]:
    return {
        "id": sound(row.id),
        "key": row.key,
        "state": row.state,
        "made_at": row.job.created_at,
        "cursor": row.cursor,
        "due_at": row.due_at,
        "body": encode_row(row),
    }


async def _held(connection: Connection, key: SessionKey, opens: str) -> JobRow | None:
    """Return the row under the lock of its session, so that one change comes after the other."""
    if opens:
        await connection.execute(QUERY["open_job"], {"key": key, "opens": opens}, binary=True)
    where = {"key": key, "id": sound(job_of(key))}
    cursor = await connection.execute(QUERY["lock_job"], where, binary=True)
    found = await cursor.fetchone()
    return decode_row(found[2]) if found is not None and found[2] is not None else None
