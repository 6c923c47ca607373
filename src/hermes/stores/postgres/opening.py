"""Connect, bring the schema up to date, and hand out the store's sides."""

import uuid
from collections.abc import Callable

from hermes.core.store import Store
from hermes.stores.audit_key import OPEN_KEY
from hermes.stores.postgres.audit import AuditLedger, PostgresAudit
from hermes.stores.postgres.chain import PostgresChain
from hermes.stores.postgres.connections import Dialer, Readers
from hermes.stores.postgres.cursors import PostgresCursors
from hermes.stores.postgres.index import Index
from hermes.stores.postgres.jobs import PostgresJobs
from hermes.stores.postgres.journal import PostgresJournal
from hermes.stores.postgres.library import PostgresLibrary
from hermes.stores.postgres.listener import NotificationListener, PostgresWakeUp
from hermes.stores.postgres.migrations import demand_usable, migrate
from hermes.stores.postgres.nodes import PostgresNodes
from hermes.stores.postgres.outbox import PostgresOutbox
from hermes.stores.postgres.reach import PlatformReach
from hermes.stores.postgres.texts import PostgresTexts
from hermes.stores.postgres.trust import PostgresTrust
from hermes.stores.postgres.upkeep import PostgresUpkeep
from hermes.stores.postgres.writer import PostgresWriter

LEASE_S = 15.0


async def open_postgres(
    url: str,
    *,
    clock: Callable[[], float],
    lease_s: float = LEASE_S,
    audit_key: bytes = OPEN_KEY,
) -> Store:
    """Open the store. Raise a StoreFailed that says what to do. `clock` gives times for people to
    read; liveness is decided without it (see `nodes`)."""
    dialer = Dialer(url=url, token=uuid.uuid4().hex)
    await migrate(dialer)
    bell = PostgresWakeUp()
    readers, control = Readers(dialer), dialer.reading()
    reach = PlatformReach()
    listener = NotificationListener(dialer, bell, reach)
    writer = PostgresWriter(dialer, clock, bell.ring, reach, PostgresChain(audit_key))
    ledger = AuditLedger(control, audit_key)
    index = Index(dialer)
    nodes = PostgresNodes(dialer, control, listener, index, lease_s, clock)
    return Store(
        journal=PostgresJournal(writer, readers, control, nodes),
        nodes=nodes,
        outbox=PostgresOutbox(writer, readers, control, reach, clock),
        cursors=PostgresCursors(readers, control),
        jobs=PostgresJobs(readers, control, nodes, clock),
        library=PostgresLibrary(dialer, readers, control, nodes, index),
        texts=PostgresTexts(readers, control),
        trust=PostgresTrust(readers, ledger, clock),
        audit=PostgresAudit(dialer, readers, ledger),
        upkeep=PostgresUpkeep(dialer, first=(nodes, writer), then=(index, control, readers)),
    )


async def check_postgres(url: str) -> None:
    """Raise Misconfigured or a StoreFailed when `open_postgres` would. Nothing is changed."""
    await demand_usable(Dialer(url=url, token=uuid.uuid4().hex))
