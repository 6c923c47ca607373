"""The default store: one SQLite file, embedded, shared safely by processes of one machine."""

from hermes.stores.sqlite.open import open_sqlite

__all__ = ["open_sqlite"]
