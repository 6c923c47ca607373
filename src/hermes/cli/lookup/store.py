"""Open the store for a command that only reads; there may be none yet."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from hermes.cli.context import CliContext
from hermes.core.codec import decode_event
from hermes.core.errors import Refused, Rejected, RowUnreadable
from hermes.core.events import Event
from hermes.core.ids import SessionKey
from hermes.core.session import Session
from hermes.core.store import Store
from hermes.lazy import LazyModule
from hermes.settings.home import DATABASE

if TYPE_CHECKING:
    from hermes.app import application as app
else:
    app = LazyModule("hermes.app.application")

PAGE = 1_000


@asynccontextmanager
async def open_existing_store(context: CliContext) -> AsyncIterator[Store | None]:
    """Yield the store; None when nothing was ever stored. Reading does not create a database."""
    settings = context.settings()
    if settings.store.url == "sqlite" and not (context.home / DATABASE).exists():
        yield None
        return
    async with app.store_only(context.home, settings) as store:
        yield store


@asynccontextmanager
async def open_required_store(context: CliContext) -> AsyncIterator[Store]:
    """Yield the store for a command that names something. Raise Rejected when there is none."""
    async with open_existing_store(context) as store:
        if store is None:
            raise Rejected(
                "nothing is stored here yet. Start a conversation first: hermes chat -q hello"
            )
        yield store


async def events_of(store: Store, key: SessionKey, after: int = 0) -> AsyncIterator[Event]:
    """Yield the readable events of a session behind a position."""
    async for _, event in journal_of(store, key, after):
        if not isinstance(event, RowUnreadable):
            yield event


async def journal_of(
    store: Store, key: SessionKey, after: int = 0
) -> AsyncIterator[tuple[int, Event | RowUnreadable]]:
    """Yield a session's journal behind a position, page by page: each event, or why it cannot be
    read."""
    while page := await store.library.records(key, after=after, limit=PAGE):
        for position, raw in enumerate(page, start=after + 1):
            try:
                yield position, decode_event(raw)
            except RowUnreadable as broken:
                yield position, broken
        after += len(page)


async def load_session(store: Store, key: SessionKey) -> Session | RowUnreadable | Refused:
    """Return the session as the gateway would load it, or why it cannot be read."""
    try:
        return await store.journal.load(key)
    except (RowUnreadable, Refused) as broken:
        return broken
