"""The audit chain that the group commits of this process write.

Each process has its own chain, so that no node waits for another. Nothing here talks to the server.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from hermes.core.audit import AuditEntry, Sealed
from hermes.stores import seals
from hermes.stores.postgres.arrays import Blobs, NumberArray, TextArray, Times

NAME_BYTES = 6


@dataclass(frozen=True)
class Log:
    """The audit rows of a batch, each with the number of its append."""

    rows: Sequence[tuple[int, Sealed]]
    many: bool  # appends in the batch

    def arrays(self) -> dict[str, object]:
        if not self.rows:
            return {}
        return {
            "a_n": NumberArray.of([n for n, _ in self.rows]),
            "a_seq": NumberArray.of([row.seq for _, row in self.rows]),
            "a_kind": TextArray.of([row.entry.kind for _, row in self.rows]),
            "a_at": Times.of([row.entry.at for _, row in self.rows]),
            "a_body": Blobs.of([row.entry.body for _, row in self.rows]),
            "a_seal": Blobs.of([row.seal for _, row in self.rows]),
            "a_chain": self.rows[0][1].chain,
            "a_many": self.many,
        }


class PostgresChain:
    """The end of this process's chain. Only this process writes to it."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.begin_again()

    def begin_again(self) -> None:
        """Begin a new chain under a new name, as a starting process does."""
        self._name = secrets.token_hex(NAME_BYTES)
        self._last = (0, seals.START)

    def sealed(self, entries: Sequence[Sequence[AuditEntry]]) -> Log:
        """Seal the entries of each append of a batch, assuming that all of them are written."""
        numbers = [n for n, each in enumerate(entries, start=1) for _ in each]
        flat = [entry for each in entries for entry in each]
        made = seals.sealed(self._key, self._name, self._last, flat)
        return Log(list(zip(numbers, made, strict=True)), len(entries) > 1)

    def grown(self, log: Log) -> None:
        """Advance the end of the chain: these rows were written."""
        _, last = log.rows[-1]
        self._last = (last.seq, last.seal)
