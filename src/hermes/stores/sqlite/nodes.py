"""Track which processes are alive. Each holds a file lock, which the kernel releases when it dies.

A stopped process keeps its lock but not its lease. Being declared dead is final: such a process has
lost its sessions and writes nothing more.
"""

import fcntl
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from hermes.core.errors import Fenced
from hermes.core.ids import NodeId
from hermes.core.store import Boot
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.search import index_messages
from hermes.stores.sqlite.wakeup import SqliteWakeUp, remove_bell
from hermes.stores.sqlite.writer import SqliteWriter

POLL_S = 1.0
INDEX_ROWS_MAX = 2_000
CHATS_KEPT_S = 24 * 3600.0
BOOTS_KEPT = 100
JOIN = """
INSERT INTO nodes (id, started_at, lease_until, seat, boot)
VALUES (:id, :at, :until, :seat,
        (SELECT coalesce(max(boot), 0) + 1 FROM nodes WHERE seat = :seat))
"""
FORGET = """
DELETE FROM nodes WHERE buried = 1 AND (
    seat = '' AND started_at < :old
    OR seat <> '' AND seat = :seat
       AND boot <= (SELECT max(boot) FROM nodes WHERE seat = :seat) - :kept)
"""
BOOTS = """
SELECT id, started_at, buried, parted FROM nodes
WHERE seat <> '' AND seat = ? ORDER BY boot DESC LIMIT ?
"""


class SqliteNodes:
    def __init__(
        self,
        writer: SqliteWriter,
        reader: SqliteReader,
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
        self.bell = SqliteWakeUp(folder)
        self._locks: dict[NodeId, int] = {}
        self._seen = 0
        self._changes = 0

    async def join(self, node: NodeId, *, seat: str = "") -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._locks[node] = _lock(self._folder / f"{node}.lock")
        now, until = self._clock(), self._lease_clock() + self._lease_s
        row = {"id": node, "at": now, "until": until, "seat": seat}

        def work(db: apsw.Cursor) -> None:
            db.execute(JOIN, row)
            self.bury_dead(db)
            old = {"old": now - CHATS_KEPT_S, "seat": seat, "kept": BOOTS_KEPT}
            db.execute(FORGET, old)

        await self._writer.write(work)
        self.bell.hang(node)

    async def boots(self, seat: str, *, limit: int) -> Sequence[Boot]:
        found = self._reader.now(lambda db: rows(db, BOOTS, (seat, limit)))
        return [_boot(*row) for row in found]

    async def hold(self, node: NodeId, name: str) -> bool:
        def work(db: apsw.Cursor) -> bool:
            if is_buried(db, node):
                return False
            holder = db.execute("SELECT node FROM holds WHERE name = ?", (name,)).get
            if holder == node:
                return True
            if holder is not None:
                self.bury_dead(db)
            db.execute("INSERT OR IGNORE INTO holds VALUES (?, ?)", (name, node))
            return db.connection.changes() == 1

        return await self._writer.write(work)

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
            db.execute("UPDATE nodes SET parted = 1 WHERE id = ? AND buried = 0", (node,))
            bury(db, node)

        try:
            await self._writer.write(work)
        finally:
            self._unlock(node)  # on a disk that takes no word of ours, the free lock says it
        self.bell.ring()

    async def wake(self, timeout_s: float) -> None:
        """Wait for news of other processes. A change without a wake-up shows in the file's data
        version, which is polled once a second. It is read after a wake-up, too, so that one change
        wakes only once."""
        left, known = timeout_s, self._changes
        while left > 0:
            rung = await self.bell.wait(min(POLL_S, left))
            left -= POLL_S
            seen = self._reader.now(lambda db: int(db.execute("PRAGMA data_version").get))
            if seen != self._seen:
                self._seen = seen
                self._changes += 1  # others may wait here, too
            if rung or self._changes != known:
                return

    def bury_dead(self, db: apsw.Cursor) -> None:
        """Declare dead every other node whose lock is free or whose lease has expired."""
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
                remove_bell(self._folder, node)

    def joined(self) -> Sequence[NodeId]:
        """Return the nodes of this process that have not left."""
        return tuple(self._locks)

    def _unlock(self, node: NodeId) -> None:
        self.bell.take_down(node)
        lock = self._locks.pop(node, None)
        if lock is not None:
            (self._folder / f"{node}.lock").unlink(missing_ok=True)
            os.close(lock)


def bury(db: apsw.Cursor, node: NodeId) -> None:
    """Declare a node dead and release its sessions in the same commit, so that a fence need not
    check nodes."""
    db.execute("UPDATE nodes SET buried = 1 WHERE id = ?", (node,))
    db.execute("UPDATE sessions SET owner = NULL WHERE owner = ?", (node,))
    db.execute("DELETE FROM holds WHERE node = ?", (node,))


def is_buried(db: apsw.Cursor, node: NodeId) -> bool:
    """Return True if the node was declared dead. A node that is missing from the table died so long
    ago that its row was removed."""
    return rows(db, "SELECT buried FROM nodes WHERE id = ?", (node,)) != [(0,)]


def demand_alive(db: apsw.Cursor, node: NodeId) -> None:
    if is_buried(db, node):
        raise Fenced(f"node {node} was declared dead and may not write any more")


def _boot(node: str, started_at: float, buried: int, parted: int) -> Boot:
    if not buried:
        return Boot(NodeId(node), started_at, "alive")
    return Boot(NodeId(node), started_at, "left" if parted else "died")


def _lock(path: Path) -> int:
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
