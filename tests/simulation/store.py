"""The real SQLite store without threads and flushes, behind a door where things go wrong."""

import asyncio
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import apsw

from hermes.core.errors import HermesError, StoreBusy
from hermes.core.store import Store
from hermes.stores.audit_key import OPEN_KEY
from hermes.stores.sqlite.audit import SqliteAudit, SqliteChain
from hermes.stores.sqlite.cursors import SqliteCursors
from hermes.stores.sqlite.jobs import SqliteJobs
from hermes.stores.sqlite.journal import SqliteJournal
from hermes.stores.sqlite.library import SqliteLibrary
from hermes.stores.sqlite.nodes import SqliteNodes
from hermes.stores.sqlite.outbox import SqliteOutbox
from hermes.stores.sqlite.reader import SqliteReader
from hermes.stores.sqlite.texts import SqliteTexts
from hermes.stores.sqlite.trust import SqliteTrust
from hermes.stores.sqlite.upkeep import SqliteUpkeep
from hermes.stores.sqlite.writer import SqliteWriter

T = TypeVar("T")
LEASE_S = 10.0
SLOW_S = 0.02


class InlineWriter(SqliteWriter):
    """Every piece of work is a commit of its own, at once, in the loop's thread."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    async def write(self, work: Callable[[apsw.Cursor], T]) -> T:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            result = work(self._db.cursor())
        except HermesError:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        return result

    async def close(self) -> None:
        self._db.close()


class InlineReader(SqliteReader):
    async def later(self, look: Callable[[apsw.Cursor], T]) -> T:
        return self.now(look)


@dataclass
class Door:
    """What may happen on the way to the store and back. Closed for ever once its process died."""

    chance: random.Random
    crash: float = 0.0
    busy: float = 0.0
    dead: bool = False

    async def pass_(self) -> None:
        if self.chance.random() < 0.5:
            await asyncio.sleep(self.chance.random() * SLOW_S)
        self.dead = self.dead or self.chance.random() < self.crash
        if self.dead:
            await asyncio.Future()


class Faulty:
    """Any side of the store, each call through the door, twice: there and back."""

    def __init__(self, side: Any, door: Door) -> None:
        self._side = side
        self._door = door

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._side, name)
        if not asyncio.iscoroutinefunction(method):
            return method

        async def through(*args: Any, **options: Any) -> Any:
            await self._door.pass_()
            if self._door.chance.random() < self._door.busy:
                raise StoreBusy("the disk is busy")
            result = await method(*args, **options)
            await self._door.pass_()
            return result

        return through


@dataclass
class SimStore:
    """One process's view of the shared file."""

    store: Store
    nodes: SqliteNodes
    writer: InlineWriter

    def kill(self) -> None:
        """What the kernel does for a dead process: its locks are free, its file is closed."""
        for lock in self.nodes._locks.values():
            os.close(lock)
        self.nodes._locks.clear()
        self.nodes.bell.close()
        self.writer._db.close()


def open_sim(path: Path, clock: Callable[[], float], door: Door) -> SimStore:
    db = apsw.Connection(str(path))
    db.execute("PRAGMA synchronous = OFF")
    writer = InlineWriter(db)
    reader = InlineReader(db, db, str(path))
    nodes = SqliteNodes(writer, reader, path.parent / "nodes", LEASE_S, clock, clock)
    chain = SqliteChain(OPEN_KEY)
    store = Store(
        journal=Faulty(SqliteJournal(writer, reader, nodes, clock, chain), door),
        nodes=Faulty(nodes, door),
        outbox=Faulty(SqliteOutbox(writer, reader, clock), door),
        cursors=Faulty(SqliteCursors(writer, reader), door),
        jobs=Faulty(SqliteJobs(writer, reader, nodes, clock), door),
        library=SqliteLibrary(writer, reader, nodes),
        texts=Faulty(SqliteTexts(writer, reader), door),
        trust=Faulty(SqliteTrust(writer, reader, nodes.bell, clock, chain), door),
        audit=Faulty(SqliteAudit(writer, reader, chain), door),
        upkeep=SqliteUpkeep(writer, reader, nodes),
    )
    return SimStore(store, nodes, writer)
