"""How far each platform has been read (cursors)."""

import apsw

from hermes.core.ids import NodeId
from hermes.core.messages import sound
from hermes.stores.sqlite.nodes import demand_alive
from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.writer import SqliteWriter
from hermes.stores.texts import checked_position

CURSOR = "SELECT text FROM cursors WHERE platform = ? AND account = ? AND name = ?"
MOVE = """
INSERT INTO cursors (platform, account, name, text) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET text = excluded.text
"""
REMOVE = "DELETE FROM cursors WHERE platform = ? AND account = ? AND name = ?"


class SqliteCursors:
    def __init__(self, writer: SqliteWriter, reader: SqliteReader) -> None:
        self._writer = writer
        self._reader = reader

    async def cursor(self, platform: str, account: str, name: str) -> str:
        where = (sound(platform), sound(account), sound(name))
        found = self._reader.now(lambda db: rows(db, CURSOR, where))
        return str(found[0][0]) if found else ""

    async def move_cursor(
        self, platform: str, account: str, name: str, text: str, *, node: NodeId
    ) -> None:
        where = (sound(platform), sound(account), sound(name))
        kept = checked_position(platform, name, text)

        def work(db: apsw.Cursor) -> None:
            demand_alive(db, node)
            if kept:
                db.execute(MOVE, (*where, kept))
            else:
                db.execute(REMOVE, where)

        await self._writer.write(work)
