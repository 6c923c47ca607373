"""Long texts that many sessions share, each kept once."""

from hermes.stores.sqlite.reader import SqliteReader, rows
from hermes.stores.sqlite.writer import SqliteWriter
from hermes.stores.texts import KnownTexts, named

KEEP = "INSERT OR IGNORE INTO texts (digest, text) VALUES (?, ?)"
TEXT = "SELECT text FROM texts WHERE digest = ?"


class SqliteTexts:
    def __init__(self, writer: SqliteWriter, reader: SqliteReader) -> None:
        self._writer = writer
        self._reader = reader
        self._known = KnownTexts()

    async def keep(self, text: str) -> str:
        digest, kept = named(text)
        if digest not in self._known:
            await self._writer.write(lambda db: db.execute(KEEP, (digest, kept)))
            self._known.add(digest, kept)
        return digest

    async def text(self, digest: str) -> str | None:
        if (known := self._known.get(digest)) is not None:
            return known
        found = self._reader.now(lambda db: rows(db, TEXT, (digest,)))
        if not found:
            return None
        self._known.add(digest, str(found[0][0]))
        return str(found[0][0])
