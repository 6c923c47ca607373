"""Who is alive. Each process holds a lock on a file of its own; the kernel lets go when it dies.

A process that is stopped keeps its lock but not its lease. Being buried is for good: whoever finds
itself buried has lost its sessions and writes nothing more.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from hermes.core.errors import Fenced
from hermes.core.ids import NodeId
from hermes.stores.sqlite.reader import Reader, rows
from hermes.stores.sqlite.writer import Writer

POLL_S = 1.0
INDEX_ROWS_MAX = 2_000
NODES_KEPT_S = 24 * 3600.0


class SqliteNodes:
    def __init__(
        self,
        writer: Writer,
        reader: Reader,
        folder: Path,
        lease_s: float,
        clock: Callable[[], float],
        lease_clock: Callable[[], float],
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._folder = folder
        self._lease_s = lease_s
        self._clock = clock
        self._lease_clock = lease_clock
        self._locks: dict[NodeId, int] = {}
        self._seen = 0

    async def join(self, node: NodeId) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._locks[node] = _locked(self._folder / f"{node}.lock")
        row = (node, self._clock(), self._lease_clock() + self._lease_s)

        def work(db: apsw.Cursor) -> None:
            db.execute("INSERT INTO nodes (id, started_at, lease_until) VALUES (?, ?, ?)", row)
            self.bury_dead(db)

        await self._writer.write(work)

    async def beat(self, node: NodeId) -> bool:
        until = self._lease_clock() + self._lease_s

        def work(db: apsw.Cursor) -> bool:
            if is_buried(db, node):
                return False
            db.execute("UPDATE nodes SET lease_until = ? WHERE id = ?", (until, node))
            self.bury_dead(db)
            index_messages(db, INDEX_ROWS_MAX)
            return True

        return await self._writer.write(work)

    async def leave(self, node: NodeId) -> None:
        def work(db: apsw.Cursor) -> None:
            bury(db, node)

        try:
            await self._writer.write(work)
        finally:
            self._unlock(node)  # on a disk that takes no word of ours, the free lock says it

    async def wake(self, timeout_s: float) -> None:
        """Another process's commit shows in the file's data version, looked at once a second."""
        waited = 0.0
        while waited < timeout_s:
            await asyncio.sleep(min(POLL_S, timeout_s - waited))
            waited += POLL_S
            seen = self._reader.now(lambda db: int(db.execute("PRAGMA data_version").get))
            if seen != self._seen:
                self._seen = seen
                return

    def bury_dead(self, db: apsw.Cursor) -> None:
        """Everybody whose lock is free or whose lease ran out, except ourselves."""
        now = self._lease_clock()
        for name, until in rows(db, "SELECT id, lease_until FROM nodes WHERE buried = 0"):
            node = NodeId(name)
            if node in self._locks:
                continue
            # A lease that lies far ahead was counted before a reboot of the machine.
            lapsed = not now - 1 <= until <= now + 100 * self._lease_s
            if lapsed or _is_free(self._folder / f"{node}.lock"):
                bury(db, node)
                (self._folder / f"{node}.lock").unlink(missing_ok=True)
        old = self._clock() - NODES_KEPT_S
        db.execute("DELETE FROM nodes WHERE buried = 1 AND started_at < ?", (old,))

    def joined(self) -> Sequence[NodeId]:
        """The nodes of this process that have not left yet."""
        return tuple(self._locks)

    def _unlock(self, node: NodeId) -> None:
        lock = self._locks.pop(node, None)
        if lock is not None:
            (self._folder / f"{node}.lock").unlink(missing_ok=True)
            os.close(lock)


def bury(db: apsw.Cursor, node: NodeId) -> None:
    """It owns nothing any more, in the same commit: so a fence need not look at nodes."""
    db.execute("UPDATE nodes SET buried = 1 WHERE id = ?", (node,))
    db.execute("UPDATE sessions SET owner = NULL WHERE owner = ?", (node,))


def is_buried(db: apsw.Cursor, node: NodeId) -> bool:
    """A node that is not in the table was buried so long ago that its row is gone."""
    return rows(db, "SELECT buried FROM nodes WHERE id = ?", (node,)) != [(0,)]


def demand_alive(db: apsw.Cursor, node: NodeId) -> None:
    if is_buried(db, node):
        raise Fenced(f"node {node} was taken for dead; it writes nothing more")


def index_messages(db: apsw.Cursor, limit: int) -> int:
    """Put messages that are not searchable yet into the index; returns how many there were."""
    upto = int(db.execute("SELECT upto FROM indexed").get)
    sql = "SELECT n, text FROM message_text WHERE n > ? ORDER BY n LIMIT ?"
    fresh = rows(db, sql, (upto, limit))
    if fresh:
        db.executemany("INSERT INTO message_index (rowid, text) VALUES (?, ?)", fresh)
        db.execute("UPDATE indexed SET upto = ?", (fresh[-1][0],))
    return len(fresh)


def _locked(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle


def _is_free(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True
