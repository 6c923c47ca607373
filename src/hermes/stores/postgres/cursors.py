"""How far each platform has been read (cursors)."""

from hermes.core.errors import Fenced
from hermes.core.ids import NodeId
from hermes.core.messages import sound
from hermes.stores.postgres.connections import PooledConnection, Readers
from hermes.stores.postgres.statements import QUERY
from hermes.stores.texts import checked_position


class PostgresCursors:
    def __init__(self, readers: Readers, control: PooledConnection) -> None:
        self._readers = readers
        self._control = control

    async def cursor(self, platform: str, account: str, name: str) -> str:
        where = {"platform": sound(platform), "account": sound(account), "name": sound(name)}
        found = await self._readers.fetch(QUERY["cursor"], **where)
        return str(found[0][0]) if found else ""

    async def move_cursor(
        self, platform: str, account: str, name: str, text: str, *, node: NodeId
    ) -> None:
        where = {"platform": sound(platform), "account": sound(account), "name": sound(name)}
        kept = checked_position(platform, name, text)
        query = QUERY["move_cursor" if kept else "remove_cursor"]
        values = {**where, "node": node} | ({"text": kept} if kept else {})
        if not await self._control.fetch(query, **values):
            raise Fenced(f"node {node} was declared dead and may not write any more")
