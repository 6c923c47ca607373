"""What the engine asks of storage for jobs: change one, find those that are due, wait for news."""

from collections.abc import Sequence
from typing import Protocol

from hermes.core.ids import SessionKey
from hermes.core.job_events import JobChange
from hermes.core.jobs import JobRow


class Jobs(Protocol):
    """Jobs as they are now, and when each is due. All of it can be rebuilt from the journal."""

    async def change(self, key: SessionKey, event: JobChange, *, seen: int | None = None) -> JobRow:
        """Append to the job's session, whoever owns it, and change its row: one transaction. It
        was decided at revision `seen`; 0: there was no such job; None: any. Raise JobChanged when
        another change came first, Rejected when there is no such job."""

    async def advance(self, key: SessionKey, due: float) -> JobRow | None:
        """Write the next due time, after the occurrence at `due` was accepted. None: it is gone."""

    async def job(self, id_: str) -> JobRow | None: ...

    async def jobs(self, *, limit: int, removed: bool = False) -> Sequence[JobRow]:
        """By the time when each was made."""

    async def due(self, now: float, *, limit: int) -> Sequence[JobRow]:
        """Those that are due, the longest waiting first."""

    async def ahead(self, now: float, *, limit: int) -> Sequence[JobRow]:
        """Active ones that have dealt with an occurrence later than now: the clock was set back."""

    async def next_due(self) -> float | None:
        """Return when the next one is due; None: none is."""

    async def wait(self, timeout_s: float) -> None:
        """Return when a job was changed by this process or `look_again` was called, or after the
        time. What was changed since the last call counts."""

    def look_again(self) -> None:
        """End `wait`: another process may have changed a job."""
