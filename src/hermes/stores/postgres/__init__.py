"""The store for many machines: PostgreSQL, shared by any number of processes."""

from hermes.stores.postgres.copies import restore
from hermes.stores.postgres.opening import check_postgres, open_postgres

__all__ = ["check_postgres", "open_postgres", "restore"]
