"""Maintenance of the database: check, backup while others write, orderly shutdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from hermes.stores.postgres.connections import Dialer, apart
from hermes.stores.postgres.copies import copy_to
from hermes.stores.postgres.statements import UPKEEP

PROBLEMS_MAX = 20


class Closing(Protocol):
    async def close(self) -> None: ...


class PostgresUpkeep:
    """Check, back up and close the store. `first` is closed while queries still work, `then`
    afterwards, in this order."""

    def __init__(
        self, dialer: Dialer, *, first: Sequence[Closing], then: Sequence[Closing]
    ) -> None:
        self._dialer = dialer
        self._first = first
        self._then = then

    async def check(self) -> Sequence[str]:
        async with apart(self._dialer) as connection:
            cursor = await connection.execute(UPKEEP["problems"], {"limit": PROBLEMS_MAX})
            return [str(problem) for (problem,) in await cursor.fetchall()]

    async def backup(self, target: str) -> None:
        await copy_to(self._dialer, Path(target))

    async def close(self) -> None:
        for part in self._first:
            await part.close()
        self._dialer.closed = True
        for part in self._then:
            await part.close()
