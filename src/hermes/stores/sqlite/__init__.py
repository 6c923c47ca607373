"""The default store: one SQLite file, embedded, shared safely by processes of one machine."""

from hermes.stores.sqlite.open import check_sqlite, open_sqlite

__all__ = ["check_sqlite", "open_sqlite"]
