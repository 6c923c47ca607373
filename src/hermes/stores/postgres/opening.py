"""Connect, bring the schema up to date, and hand out the store's sides."""

import uuid
from collections.abc import Callable

from hermes.core.store import Store
from hermes.stores.audit_key import OPEN_KEY
from hermes.stores.postgres.audit import Ledger, PostgresAudit
from hermes.stores.postgres.chain import Chain
from hermes.stores.postgres.connections import Dialer, Readers
from hermes.stores.postgres.index import Index
from hermes.stores.postgres.journal import PostgresJournal
from hermes.stores.postgres.library import PostgresLibrary
from hermes.stores.postgres.listener import Bell, Listener
from hermes.stores.postgres.migrations import migrate
from hermes.stores.postgres.nodes import PostgresNodes
from hermes.stores.postgres.outbox import PostgresOutbox
from hermes.stores.postgres.reach import Reach
from hermes.stores.postgres.texts import PostgresTexts
from hermes.stores.postgres.trust import PostgresTrust
from hermes.stores.postgres.upkeep import PostgresUpkeep
from hermes.stores.postgres.writer import Writer

LEASE_S = 15.0


async def open_postgres(
    url: str,
    *,
    clock: Callable[[], float],
    lease_s: float = LEASE_S,
    audit_key: bytes = OPEN_KEY,
) -> Store:
    """Raises a StoreFailed that says what to do. `clock` gives times for people to read; who is
    alive is decided without it (see `nodes`)."""
    dialer = Dialer(url=url, token=uuid.uuid4().hex)
    await migrate(dialer)
    bell = Bell()
    readers, control = Readers(dialer), dialer.reading()
    reach = Reach()
    listener = Listener(dialer, bell, reach)
    writer = Writer(dialer, clock, bell.ring, reach, Chain(audit_key))
    ledger = Ledger(control, audit_key)
    index = Index(dialer)
    nodes = PostgresNodes(dialer, control, listener, index, lease_s, clock)
    closing = (nodes, writer, index, control, readers)
    return Store(
        journal=PostgresJournal(writer, readers, control, nodes),
        nodes=nodes,
        outbox=PostgresOutbox(writer, readers, control, reach, clock),
        library=PostgresLibrary(dialer, readers, control, nodes, index),
        texts=PostgresTexts(readers, control),
        trust=PostgresTrust(readers, ledger, clock),
        audit=PostgresAudit(dialer, readers, ledger),
        upkeep=PostgresUpkeep(dialer, closing),
    )
