"""The store behind a command that only looks; there may be none yet."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hermes.app import store_only
from hermes.cli.place import Place
from hermes.core.errors import Rejected
from hermes.core.events import Event
from hermes.core.ids import SessionKey
from hermes.core.store import Store
from hermes.settings.home import DATABASE

PAGE = 1_000


@asynccontextmanager
async def looked_at(place: Place) -> AsyncIterator[Store | None]:
    """None when nothing has ever been stored; looking does not make a database."""
    settings = place.settings()
    if settings.store.url == "sqlite" and not (place.home / DATABASE).exists():
        yield None
        return
    async with store_only(place.home, settings) as store:
        yield store


@asynccontextmanager
async def needed(place: Place) -> AsyncIterator[Store]:
    """For a command that names something: without a store there is no such thing."""
    async with looked_at(place) as store:
        if store is None:
            raise Rejected("nothing is stored here yet. Say something first: hermes chat -q hello")
        yield store


async def events_of(store: Store, key: SessionKey, after: int = 0) -> AsyncIterator[Event]:
    """A lane's journal behind a position, read in pages."""
    while page := await store.library.events(key, after=after, limit=PAGE):
        for event in page:
            yield event
        after += len(page)
