"""The audit log: the chain that all processes share for manual actions, and reading all chains.

The group commits of each process have a chain of their own (`chain`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from hermes.core.audit import AuditEntry, AuditHead, Sealed
from hermes.core.ids import SessionKey
from hermes.stores import seals, trusted
from hermes.stores.postgres.connections import (
    Connection,
    Dialer,
    PooledConnection,
    Readers,
    Row,
    apart,
)
from hermes.stores.postgres.statements import QUERY

MAIN = "main"
LOCK = 0x6865726D65736C67  # of an advisory lock: who holds it writes to the shared chain
FAULTS_MAX = 100
PRUNED_MAX = 20_000
CUTS_MAX = 200  # chains without rows that a checkpoint remembers
ROWS_AT_ONCE = 1_000

T = TypeVar("T")
Work = Callable[[Connection], Awaitable[tuple[T, Sequence[AuditEntry]]]]


@dataclass
class AuditLedger:
    """Do something in one transaction with its entries in the shared chain."""

    control: PooledConnection
    key: bytes

    async def do(self, work: Work[T]) -> T:
        """Run `work`, which returns its result and its entries; without entries it has changed
        nothing.

        When the connection is lost at the commit, the last entry tells whether the commit happened.
        """
        tried: list[tuple[T, Sealed]] = []

        async def attempt(connection: Connection) -> T:
            async with connection.transaction():
                await connection.execute(QUERY["lock_audit"], {"lock": LOCK})
                for result, last in tried:
                    if await _is_there(connection, last):
                        return result
                cursor = await connection.execute(QUERY["audit_last"], {"chain": MAIN}, binary=True)
                after = await cursor.fetchone() or (0, seals.START)
                result, entries = await work(connection)
                if entries:
                    tried.append((result, await self._write(connection, after, entries)))
            return result

        return await self.control.run(attempt)

    async def _write(
        self, connection: Connection, after: Row, entries: Sequence[AuditEntry]
    ) -> Sealed:
        rows = list(seals.sealed(self.key, MAIN, (after[0], after[1]), entries))
        async with connection.cursor() as adding:
            await adding.executemany(QUERY["audit_add"], [_values(row) for row in rows])
        return rows[-1]


class PostgresAudit:
    def __init__(self, dialer: Dialer, readers: Readers, ledger: AuditLedger) -> None:
        self._dialer = dialer
        self._readers = readers
        self._ledger = ledger

    async def write(self, entries: Sequence[AuditEntry]) -> None:
        async def work(_: Connection) -> tuple[None, Sequence[AuditEntry]]:
            return None, entries

        await self._ledger.do(work)

    async def entries(
        self, *, limit: int, since: float = 0.0, session: SessionKey | None = None
    ) -> Sequence[Sealed]:
        said = None if session is None else trusted.says_session(session)
        values = {"limit": limit, "since": since, "session": said}
        found = await self._readers.fetch(QUERY["audit_entries"], **values)
        return [_sealed(*row) for row in reversed(found)]

    async def check(self, heads: Mapping[str, AuditHead]) -> Sequence[str]:
        check, faults = seals.SealCheck(self._ledger.key, heads), list[str]()
        async with (
            apart(self._dialer) as connection,
            connection.transaction(),
            connection.cursor(name="audit", binary=True) as cursor,
        ):
            await cursor.execute(QUERY["audit_all"])
            while found := await cursor.fetchmany(ROWS_AT_ONCE):
                for row in found:
                    faults += check.see(_sealed(*row))
        return [*faults, *check.end()][:FAULTS_MAX]

    async def heads(self) -> Mapping[str, AuditHead]:
        found = await self._readers.fetch(QUERY["audit_heads"])
        return {chain: AuditHead(seq, seal.hex()) for chain, seq, seal in found}

    async def prune(self, before: float, at: float) -> int:
        async def work(connection: Connection) -> tuple[int, Sequence[AuditEntry]]:
            values = {"before": before, "limit": PRUNED_MAX}
            cursor = await connection.execute(QUERY["audit_old"], values, binary=True)
            old = await cursor.fetchall()
            if not old:
                return 0, ()
            cuts = await _cuts(connection)
            gone = dict[str, int]()
            for chain, rows in groupby(old, key=lambda row: str(row[0])):
                found = list(rows)
                gone[chain] = found[-1][1]
                last = cuts.pop(chain, None)
                cuts[chain] = seals.cut(last, gone[chain], [seal for *_, seal in found])
            await connection.execute(QUERY["audit_pruning"])
            ends = {"chain": list(gone), "upto": list(gone.values())}
            await connection.execute(QUERY["audit_cut"], ends)
            return len(old), [seals.checkpoint(at, cuts)]

        return await self._ledger.do(work)


async def _cuts(connection: Connection) -> dict[str, seals.SealCut]:
    """Return the cuts of the last checkpoint. Of chains without rows the latest are kept, because
    their process may still be running."""
    cursor = await connection.execute(QUERY["audit_checkpoint"], binary=True)
    found = await cursor.fetchone()
    if found is None:
        return {}
    cuts = seals.cuts_of(AuditEntry(*found))
    cursor = await connection.execute(QUERY["audit_heads"], binary=True)
    alive = {str(chain) for chain, *_ in await cursor.fetchall()}
    empty = [chain for chain in cuts if chain not in alive]
    dropped = set(empty[: max(len(empty) - CUTS_MAX, 0)])
    return {chain: cut for chain, cut in cuts.items() if chain not in dropped}


async def _is_there(connection: Connection, row: Sealed) -> bool:
    values = {"chain": row.chain, "seq": row.seq, "seal": row.seal}
    return (await connection.execute(QUERY["audit_is"], values)).rowcount == 1


def _values(row: Sealed) -> dict[str, object]:
    each = row.entry
    told = {"kind": each.kind, "at": each.at, "body": each.body}
    return {"chain": row.chain, "seq": row.seq, **told, "seal": row.seal}


def _sealed(chain: str, seq: int, kind: str, at: float, body: bytes, seal: bytes) -> Sealed:
    return Sealed(chain, seq, AuditEntry(kind, at, body), seal)
