"""Words for the search, added to the transcript's rows after the commit that wrote them.

A row that is not read yet stands in `unread`; whoever beats or searches reads some. A process that
dies in between leaves the row there for the next one.
"""

from hermes.core.codec import decode_line
from hermes.stores.postgres.connections import Connection, Dialer
from hermes.stores.postgres.statements import QUERY
from hermes.stores.words import plain

ROWS_AT_ONCE = 1_000
PORTIONS_MAX = 50  # for one search


class Index:
    def __init__(self, dialer: Dialer) -> None:
        self._lane = dialer.reading()

    async def read_some(self) -> int:
        """Returns how many rows there were; fewer than a full portion means: that was all."""
        return await self._lane.run(_read)

    async def read_all(self) -> None:
        """Everything that was ever said, unless that is a great deal: then beats do the rest."""
        for _ in range(PORTIONS_MAX):
            if await self.read_some() < ROWS_AT_ONCE:
                return

    async def close(self) -> None:
        await self._lane.close()


async def _read(connection: Connection) -> int:
    async with connection.transaction():
        cursor = await connection.execute(QUERY["unread"], {"limit": ROWS_AT_ONCE}, binary=True)
        rows = await cursor.fetchall()
        if rows:
            values = {
                "session": [session for session, _, _ in rows],
                "ordinal": [ordinal for _, ordinal, _ in rows],
                "words": [plain(decode_line(line).text) for _, _, line in rows],
            }
            await connection.execute(QUERY["read"], values)
    return len(rows)
