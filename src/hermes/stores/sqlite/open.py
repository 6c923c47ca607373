"""Open the file, bring its schema up to date, and hand out the store's sides."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import apsw

from hermes.core.errors import HermesError, StoreFailed, StoreTooNew
from hermes.core.store import Store
from hermes.stores.audit_key import OPEN_KEY
from hermes.stores.sqlite.audit import SqliteAudit, SqliteChain
from hermes.stores.sqlite.cursors import SqliteCursors
from hermes.stores.sqlite.failures import explained
from hermes.stores.sqlite.jobs import SqliteJobs
from hermes.stores.sqlite.journal import SqliteJournal
from hermes.stores.sqlite.library import SqliteLibrary
from hermes.stores.sqlite.nodes import SqliteNodes
from hermes.stores.sqlite.outbox import SqliteOutbox
from hermes.stores.sqlite.reader import SqliteReader
from hermes.stores.sqlite.texts import SqliteTexts
from hermes.stores.sqlite.trust import SqliteTrust
from hermes.stores.sqlite.upkeep import SqliteUpkeep, copy_to
from hermes.stores.sqlite.writer import SqliteWriter, close_quietly
from hermes.views.files import is_full, unwritable

BUSY_TIMEOUT_MS = 10_000
LEASE_S = 15.0


async def open_sqlite(
    path: Path,
    *,
    clock: Callable[[], float],
    lease_s: float = LEASE_S,
    lease_clock: Callable[[], float] = time.monotonic,
    vfs: str | None = None,
    busy_ms: int = BUSY_TIMEOUT_MS,
    audit_key: bytes = OPEN_KEY,
) -> Store:
    """Open the store. The folder must exist. Raise a StoreFailed that says what to do."""
    name = str(path)
    try:
        writer, reader = _open(path, vfs, busy_ms)
    except apsw.Error as error:
        raise explained(error, name) from error
    except OSError as error:
        if is_full(error):
            raise unwritable(path, error) from error
        raise StoreFailed(f"{name}: {error.strerror}. Check the folder's permissions.") from error
    nodes = SqliteNodes(writer, reader, path.parent / "nodes", lease_s, clock, lease_clock)
    chain = SqliteChain(audit_key)
    return Store(
        journal=SqliteJournal(writer, reader, nodes, clock, chain),
        nodes=nodes,
        outbox=SqliteOutbox(writer, reader, clock),
        cursors=SqliteCursors(writer, reader),
        jobs=SqliteJobs(writer, reader, nodes, clock),
        library=SqliteLibrary(writer, reader, nodes),
        texts=SqliteTexts(writer, reader),
        trust=SqliteTrust(writer, reader, nodes.bell, clock, chain),
        audit=SqliteAudit(writer, reader, chain),
        upkeep=SqliteUpkeep(writer, reader, nodes),
    )


def check_sqlite(path: Path) -> None:
    """Raise a StoreFailed when `open_sqlite` could not use the file. Nothing is changed."""
    if not path.exists():
        return
    try:
        db = _read_connection(str(path), None)
        try:
            _demand_known(_version(db), len(_migrations()), path)
        finally:
            db.close()
    except apsw.Error as error:
        raise explained(error, str(path)) from error


def _open(path: Path, vfs: str | None, busy_ms: int) -> tuple[SqliteWriter, SqliteReader]:
    """Open the connections. On a read-only disk the data stays readable, and every write reports
    the disk."""
    name = str(path)
    try:
        db, final = _connect(path, vfs, busy_ms), None
    except (apsw.ReadOnlyError, apsw.CantOpenError) as error:
        if not path.exists():
            raise
        final = explained(apsw.ReadOnlyError(str(error)), name)
        name = f"file:{quote(name)}?immutable=1"
        db = _read_connection(name, vfs)
    reader = SqliteReader(_read_connection(name, vfs), _read_connection(name, vfs), str(path))
    return SqliteWriter(db, str(path), final), reader


def _connect(path: Path, vfs: str | None, busy_ms: int) -> apsw.Connection:
    """Return the write connection on a file with an up-to-date schema. It is closed again if this
    fails."""
    if vfs is None:
        _make_closed(path)
    db = apsw.Connection(str(path), vfs=vfs)
    try:
        db.set_busy_timeout(busy_ms)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA wal_autocheckpoint = 6000")
        db.execute("PRAGMA journal_size_limit = 33554432")
        migrate(db, path, _migrations())
        path.chmod(0o600)
    except (apsw.Error, HermesError, OSError):
        close_quietly(db)
        raise
    return db


def _make_closed(path: Path) -> None:
    """Create the file with mode 0600. SQLite would use the umask; its log files get the mode of the
    file."""
    with suppress(OSError):  # what is wrong with the place, SQLite says better
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _read_connection(name: str, vfs: str | None) -> apsw.Connection:
    db = apsw.Connection(name, vfs=vfs, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    return db


def migrate(db: apsw.Connection, path: Path, steps: Sequence[str]) -> None:
    """Run numbered steps in one transaction, after a backup of the old file. A new file needs no
    backup."""
    version = _version(db)
    _demand_known(version, len(steps), path)
    if version == len(steps):
        return
    db.execute("BEGIN IMMEDIATE")  # two processes may start together: the second finds it done
    try:
        version = _version(db)
        if 0 < version < len(steps):
            _keep(db, path.with_name(f"{path.name}.schema{version}.bak"))
        for sql in steps[version:]:
            db.execute(sql)
        db.execute(f"PRAGMA user_version = {len(steps)}")
        db.execute("COMMIT")
    except (apsw.Error, HermesError, OSError):
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _demand_known(version: int, known: int, path: Path) -> None:
    if version > known:
        raise StoreTooNew(
            f"{path}: written by a newer Hermes (schema {version}, this one knows {known}). "
            "Update Hermes, or restore an older backup."
        )


def _keep(db: apsw.Connection, target: Path) -> None:
    """Back up the file by a separate connection, because ours has begun to write."""
    old = _read_connection(db.filename, db.open_vfs)
    try:
        copy_to(old, target)
    finally:
        old.close()


def _version(db: apsw.Connection) -> int:
    return int(db.execute("PRAGMA user_version").get)


def _migrations() -> list[str]:
    folder = Path(__file__).with_name("sql")
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in files]
