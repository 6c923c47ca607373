"""The store for many machines: PostgreSQL, shared by any number of processes."""

from hermes.stores.postgres.copies import restore
from hermes.stores.postgres.opening import open_postgres

__all__ = ["open_postgres", "restore"]
