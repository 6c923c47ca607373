"""Translate SQLite's errors: what happened, and what a person can do about it."""

import os
from pathlib import Path

import apsw

from hermes.core.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
)

ROOM_BYTES = 64 * 1024  # its shared memory grows by half of that


def explained(error: apsw.Error, path: str) -> StoreFailed:
    """Return the StoreFailed to raise instead. The failed transaction was rolled back."""
    if isinstance(error, apsw.IOError | apsw.CantOpenError) and _is_full(path):
        error = apsw.FullError(str(error))
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


def _is_full(path: str) -> bool:
    """Return True if the disk has no room for SQLite's smallest file. SQLite reports a failed write
    as full, but other failures on a full disk as I/O errors."""
    try:
        disk = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < ROOM_BYTES or (disk.f_files > 0 and disk.f_favail == 0)


def is_final(error: apsw.Error) -> bool:
    """Return True if the state of the file is unknown after this error, so that only a restart may
    use it."""
    return isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.IOError)
