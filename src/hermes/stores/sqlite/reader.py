"""Read beside the writer: quick look-ups at once, long ones in a thread of their own.

A write-ahead log lets readers see the last commit without waiting.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import apsw

from hermes.core.errors import StoreClosed
from hermes.stores.sqlite.failures import explained
from hermes.stores.sqlite.writer import close_quietly

T = TypeVar("T")


class SqliteReader:
    """Two connections for reads. Every read is one transaction: it sees one state of the
    database."""

    def __init__(self, quick: apsw.Connection, slow: apsw.Connection, path: str) -> None:
        self._quick = (quick.cursor(), threading.Lock())
        self._slow = (slow.cursor(), threading.Lock())
        self._path = path
        self._closed = False

    def now(self, look: Callable[[apsw.Cursor], T]) -> T:
        """Read a few rows on the calling thread, which is cheaper than changing threads."""
        return self._read(self._quick, look)

    async def later(self, look: Callable[[apsw.Cursor], T]) -> T:
        """Run a read that grows with the data in the reader thread."""
        return await asyncio.to_thread(self._read, self._slow, look)

    async def apart(self, look: Callable[[apsw.Connection], T]) -> T:
        """Run a read outside a transaction, for work that brings its own."""

        def work() -> T:
            db, lock = self._slow
            with lock:
                self._demand_open()
                return look(db.connection)

        return await asyncio.to_thread(work)

    def close(self) -> None:
        """Close after the running reads; waiting ones are refused."""
        self._closed = True
        for db, lock in (self._quick, self._slow):
            with lock:
                close_quietly(db.connection)

    def _read(
        self, line: tuple[apsw.Cursor, threading.Lock], look: Callable[[apsw.Cursor], T]
    ) -> T:
        db, lock = line
        with lock:
            self._demand_open()
            try:
                db.execute("BEGIN")
                try:
                    return look(db)
                finally:
                    db.execute("COMMIT")
            except apsw.Error as error:
                raise explained(error, self._path) from error

    def _demand_open(self) -> None:
        if self._closed:
            raise StoreClosed


def rows(db: apsw.Cursor, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
    """Return all rows, untyped: the schema is STRICT, so a column holds its declared type."""
    return db.execute(sql, values).fetchall()
