"""Care of the database: its check, a copy while others write, an orderly end."""

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
    """`closing` is closed in this order."""

    def __init__(self, dialer: Dialer, closing: Sequence[Closing]) -> None:
        self._dialer = dialer
        self._closing = closing

    async def check(self) -> Sequence[str]:
        async with apart(self._dialer) as connection:
            cursor = await connection.execute(UPKEEP["problems"], {"limit": PROBLEMS_MAX})
            return [str(problem) for (problem,) in await cursor.fetchall()]

    async def backup(self, target: str) -> None:
        await copy_to(self._dialer, Path(target))

    async def close(self) -> None:
        for part in self._closing:
            await part.close()
