"""Translate PostgreSQL's errors: what happened, and what a person can do about it."""

import psycopg
from psycopg import errors as pg

from hermes.core.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
)

# Another transaction was quicker; ours left no trace and may be sent again as it is.
Collided = (
    pg.DeadlockDetected,
    pg.SerializationFailure,
    pg.UniqueViolation,
)


def explained(error: psycopg.Error) -> StoreFailed:
    """Return the StoreFailed to raise instead of the driver's error."""
    said = " ".join(str(error).split()) or type(error).__name__
    match error:
        case pg.DiskFull():
            return StoreFull(f"PostgreSQL has no space left ({said}). Free some; nothing was lost.")
        case pg.ReadOnlySqlTransaction():
            return StoreReadOnly(
                "PostgreSQL does not accept writes: it is a standby or read-only. "
                "Point store.url at the primary server."
            )
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return StoreCorrupt(f"PostgreSQL reports damaged data ({said}). Restore a backup.")
        case pg.InvalidPassword() | pg.InvalidAuthorizationSpecification():
            return StoreFailed(f"PostgreSQL refuses the login ({said}). Check store.url.")
        case pg.InvalidCatalogName():
            return StoreFailed(f"{said}. Create the database, or check store.url.")
        case pg.InsufficientPrivilege():
            return StoreFailed(f"PostgreSQL: {said}. Grant it to the user of store.url.")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return StoreBusy(f"PostgreSQL is not available right now ({said}). Try again.")
        case _:
            return StoreFailed(f"PostgreSQL: {said}")
