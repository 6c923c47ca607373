"""The upkeep: integrity check, backup and closing of the database."""

from collections.abc import Sequence
from typing import Protocol


class Upkeep(Protocol):
    """Care of the store itself."""

    async def check(self) -> Sequence[str]:
        """Problems found by the integrity check; empty when all is well."""

    async def backup(self, target: str) -> None:
        """A consistent copy into a new file, while others go on writing."""

    async def close(self) -> None: ...
