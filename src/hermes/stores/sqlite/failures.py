"""SQLite's errors in our words: what happened, and what a person can do about it."""

import apsw

from hermes.core.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
)


def explained(error: apsw.Error, path: str) -> StoreFailed:
    """The error to raise instead. Nothing of the failed transaction was kept."""
    match error:
        case apsw.FullError():
            return StoreFull(f"{path}: the disk is full. Free some space; nothing was lost.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreReadOnly(f"{path}: the file or its disk is read-only. Make it writable.")
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"{path}: another program holds the database. Close it or wait.")
        case apsw.CorruptError() | apsw.NotADBError():
            return StoreCorrupt(
                f"{path}: the database is damaged ({error}). Nothing more is written to it; "
                "run `hermes doctor`, then `hermes restore` with your last backup."
            )
        case apsw.CantOpenError():
            return StoreFailed(f"{path}: cannot be opened. Check the folder and its permissions.")
        case apsw.IOError():
            return StoreFailed(
                f"{path}: the disk failed while writing ({error}). Hermes stops writing; "
                "check the disk and start again."
            )
        case _:
            return StoreFailed(f"{path}: {error}")


def is_final(error: apsw.Error) -> bool:
    """After these nobody can say what the file holds: only a fresh start may look."""
    return isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.IOError)
