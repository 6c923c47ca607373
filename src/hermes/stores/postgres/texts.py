"""Long texts that many sessions share, each kept once."""

from hermes.core.messages import sound
from hermes.stores.postgres.connections import PooledConnection, Readers
from hermes.stores.postgres.statements import QUERY
from hermes.stores.texts import KnownTexts, named


class PostgresTexts:
    def __init__(self, readers: Readers, control: PooledConnection) -> None:
        self._readers = readers
        self._control = control
        self._known = KnownTexts()

    async def keep(self, text: str) -> str:
        digest, sound = named(text)
        if digest not in self._known:
            await self._control.fetch(QUERY["keep_text"], digest=digest, text=sound)
            self._known.add(digest, sound)
        return digest

    async def text(self, digest: str) -> str | None:
        if (known := self._known.get(digest)) is not None:
            return known
        found = await self._readers.fetch(QUERY["text"], digest=sound(digest))
        if not found:
            return None
        self._known.add(digest, str(found[0][0]))
        return str(found[0][0])
