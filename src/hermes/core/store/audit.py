"""The audit log: entries that are sealed and never changed."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from hermes.core.audit import AuditEntry, AuditHead, Sealed
from hermes.core.ids import SessionKey


class Audit(Protocol):
    """The record of what was done. It grows at its end, and only `prune` makes it shorter."""

    async def write(self, entries: Sequence[AuditEntry]) -> None:
        """What happened outside of a session: a setting was changed, say."""

    async def entries(
        self, *, limit: int, since: float = 0.0, session: SessionKey | None = None
    ) -> Sequence[Sealed]:
        """The latest, oldest first."""

    async def check(self, heads: Mapping[str, AuditHead]) -> Sequence[str]:
        """What is wrong with it; see `audit.faults`."""

    async def heads(self) -> Mapping[str, AuditHead]:
        """Where each chain ends, to be noted somewhere else."""

    async def prune(self, before: float, at: float) -> int:
        """Cut off what is older, as far as one go takes, and seal that it was; returns how many
        went. `at` is now."""
