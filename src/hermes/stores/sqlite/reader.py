"""Reading beside the writer: quick look-ups at once, long ones in a thread of their own.

A write-ahead log lets readers see the last commit without waiting for anybody.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import apsw

from hermes.stores.sqlite.failures import explained
from hermes.stores.sqlite.writer import close_quietly

T = TypeVar("T")


class Reader:
    """Two connections. Every read is one transaction: it sees one state of the database."""

    def __init__(self, quick: apsw.Connection, slow: apsw.Connection, path: str) -> None:
        self._quick = (quick.cursor(), threading.Lock())
        self._slow = (slow.cursor(), threading.Lock())
        self._path = path

    def now(self, look: Callable[[apsw.Cursor], T]) -> T:
        """For look-ups of a few rows: cheaper than a change of threads."""
        return self._read(self._quick, look)

    async def later(self, look: Callable[[apsw.Cursor], T]) -> T:
        """For anything that grows with the data."""
        return await asyncio.to_thread(self._read, self._slow, look)

    async def apart(self, look: Callable[[apsw.Connection], T]) -> T:
        """Outside a transaction, for what brings its own."""

        def work() -> T:
            db, lock = self._slow
            with lock:
                return look(db.connection)

        return await asyncio.to_thread(work)

    def close(self) -> None:
        for db, lock in (self._quick, self._slow):
            with lock:
                close_quietly(db.connection)

    def _read(
        self, line: tuple[apsw.Cursor, threading.Lock], look: Callable[[apsw.Cursor], T]
    ) -> T:
        db, lock = line
        with lock:
            try:
                db.execute("BEGIN")
                try:
                    return look(db)
                finally:
                    db.execute("COMMIT")
            except apsw.Error as error:
                raise explained(error, self._path) from error


def rows(db: apsw.Cursor, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
    """All rows, untyped: the schema is STRICT, so a column holds what it says."""
    return db.execute(sql, values).fetchall()
