"""Maintenance of the file: integrity check, backup while others write, orderly shutdown."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from hermes.core.errors import StoreFailed
from hermes.stores.sqlite.failures import explained
from hermes.stores.sqlite.nodes import SqliteNodes
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.writer import SqliteWriter
from hermes.views.files import new_file, unwritable

PROBLEMS_MAX = 20
GAPS = """
WITH RECURSIVE chain (session, key, head, n, position) AS (
    SELECT s.n, s.key, s.head, s.tail, s.head FROM sessions s WHERE s.head > 0
    UNION ALL
    SELECT chain.session, chain.key, chain.head, j.prev, chain.position - 1
    FROM chain JOIN journal j
      ON j.n = chain.n AND j.session = chain.session AND j.position = chain.position
)
SELECT key FROM chain GROUP BY session HAVING count(*) <> head + 1 LIMIT 20
"""
ORPHANS = """
SELECT count(*) FROM inbox i
WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.n = i.session AND i.position <= s.head)
"""
IDLERS = """
SELECT key FROM sessions WHERE busy <> (phase <> 'idle' OR waiting > 0) LIMIT 20
"""


class SqliteUpkeep:
    def __init__(self, writer: SqliteWriter, reader: SqliteReader, nodes: SqliteNodes) -> None:
        self._writer = writer
        self._reader = reader
        self._nodes = nodes

    async def check(self) -> Sequence[str]:
        try:
            return await self._reader.later(_problems)
        except StoreFailed as failure:
            return [str(failure)]

    async def backup(self, target: str) -> None:
        await self._reader.apart(lambda db: copy_to(db, Path(target)))

    async def close(self) -> None:
        for node in self._nodes.joined():
            with suppress(StoreFailed):
                await self._nodes.leave(node)
        self._nodes.bell.close()
        await asyncio.to_thread(self._reader.close)
        await self._writer.close()  # the last one folds the log into the file


def copy_to(db: apsw.Connection, target: Path) -> None:
    """Write a consistent copy. The file gets its name only when it is complete."""
    half = target.with_name(f".{target.name}.{os.getpid()}.half")
    try:
        new_file(half, b"")  # closed to others before there is something in it
        copy = apsw.Connection(str(half))
        try:
            with copy.backup("main", db, "main") as backup:
                while not backup.done:
                    backup.step(-1)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, no log beside it
        finally:
            copy.close()
        half.replace(target)
    except apsw.Error as error:
        raise explained(error, str(target)) from error
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        half.unlink(missing_ok=True)


def _problems(db: apsw.Cursor) -> list[str]:
    damage = rows(db, f"PRAGMA integrity_check({PROBLEMS_MAX})")
    found = [str(problem) for (problem,) in damage if problem != "ok"]
    found += (f"{key}: its journal has a gap" for (key,) in rows(db, GAPS))
    found += (f"{key}: it is counted wrongly" for (key,) in rows(db, IDLERS))
    orphans = int(db.execute(ORPHANS).get)
    if orphans:
        found.append(f"{orphans} received messages have no event in the journal")
    return found
