"""The audit log: one chain for the file, because there is one writer at a time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import apsw

from hermes.core.audit import AuditEntry, AuditHead, Sealed
from hermes.core.ids import SessionKey
from hermes.stores import seals, trusted
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.writer import SqliteWriter

MAIN = "main"
FAULTS_MAX = 100
PRUNED_MAX = 20_000  # in one go, because it blocks other writers
LAST = "SELECT seq, seal FROM audit ORDER BY seq DESC LIMIT 1"
ADD = "INSERT INTO audit VALUES (?, ?, ?, ?, ?)"
ROWS = "SELECT seq, kind, at, body, seal FROM audit"
OF_SESSION = "AND instr(body, ?2)"
# The beginning, up to where something young stands.
OLD = """
SELECT seq, seal FROM audit
WHERE seq < coalesce((SELECT min(seq) FROM audit WHERE at >= ?1), ?2) ORDER BY seq LIMIT ?3
"""
BEYOND = 2**62
CHECKPOINTS = f"{ROWS} WHERE kind = '{seals.CHECKPOINT}' ORDER BY seq DESC LIMIT 1"


class SqliteChain:
    """Seal entries as they are written. Only this class knows the key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def write(self, db: apsw.Cursor, entries: Iterable[AuditEntry]) -> None:
        last = rows(db, LAST)
        seq, seal = last[0] if last else (0, seals.START)
        for row in seals.sealed(self._key, MAIN, (seq, seal), entries):
            each = row.entry
            db.execute(ADD, (row.seq, each.kind, each.at, each.body, row.seal))

    def faults(self, found: Iterable[Sealed], heads: Mapping[str, AuditHead]) -> Iterator[str]:
        return seals.faults(self._key, found, heads)


class SqliteAudit:
    def __init__(self, writer: SqliteWriter, reader: SqliteReader, chain: SqliteChain) -> None:
        self._writer = writer
        self._reader = reader
        self._chain = chain

    async def write(self, entries: Sequence[AuditEntry]) -> None:
        await self._writer.write(lambda db: self._chain.write(db, entries))

    async def entries(
        self, *, limit: int, since: float = 0.0, session: SessionKey | None = None
    ) -> Sequence[Sealed]:
        which = "" if session is None else OF_SESSION
        sql = f"{ROWS} WHERE at >= ?1 {which} ORDER BY seq DESC LIMIT ?3"
        values = (since, None if session is None else trusted.says_session(session), limit)
        found = await self._reader.later(lambda db: rows(db, sql, values))
        return [_sealed(*row) for row in reversed(found)]

    async def check(self, heads: Mapping[str, AuditHead]) -> Sequence[str]:
        def look(db: apsw.Cursor) -> list[str]:
            found = (_sealed(*row) for row in db.execute(f"{ROWS} ORDER BY seq"))
            return list(islice(self._chain.faults(found, heads), FAULTS_MAX))

        return await self._reader.later(look)

    async def heads(self) -> Mapping[str, AuditHead]:
        found = self._reader.now(lambda db: rows(db, LAST))
        return {MAIN: AuditHead(found[0][0], found[0][1].hex())} if found else {}

    async def prune(self, before: float, at: float) -> int:
        return await self._writer.write(lambda db: self._pruned(db, before, at))

    def _pruned(self, db: apsw.Cursor, before: float, at: float) -> int:
        old = rows(db, OLD, (before, BEYOND, PRUNED_MAX))
        if not old:
            return 0
        upto, _ = old[-1]
        made = seals.cut(_last_cut(db), upto, [seal for _, seal in old])
        self._chain.write(db, [seals.checkpoint(at, {MAIN: made})])
        db.execute("UPDATE audit_floor SET upto = ?", (upto,))
        db.execute("DELETE FROM audit WHERE seq <= ?", (upto,))
        return len(old)


def _last_cut(db: apsw.Cursor) -> seals.SealCut | None:
    found = rows(db, CHECKPOINTS)
    return seals.cuts_of(_sealed(*found[0]).entry).get(MAIN) if found else None


def _sealed(seq: int, kind: str, at: float, body: bytes, seal: bytes) -> Sealed:
    return Sealed(MAIN, seq, AuditEntry(kind, at, body), seal)
