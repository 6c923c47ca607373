"""Back up the database into one file, and restore it.

The format is gzip'd JSON lines, not pg_dump's, with everything that cannot be derived (journal,
inbox, outbox, cursors, epochs, texts, what deleted sessions cost, people and grants, the audit
log), so that a store of any kind can read it. The rest is rebuilt from the journal.
"""

import asyncio
import gzip
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hermes.core.codec import decode_reply
from hermes.core.errors import Rejected, StoreCorrupt, StoreFailed
from hermes.core.messages import sound
from hermes.stores.postgres.connections import Connection, Dialer, apart
from hermes.stores.postgres.migrations import migrate
from hermes.stores.postgres.rebuild import rebuild_all
from hermes.stores.postgres.statements import UPKEEP
from hermes.views.files import unwritable

FORMAT = "hermes-copy.1"
ROWS_AT_ONCE = 1_000
TABLES = (
    *("sessions", "journal", "inbox", "outbox", "cursors", "texts", "usage"),
    *("standing", "people", "invites", "requests", "grants", "audit"),
)


class CopyChunk(msgspec.Struct, frozen=True):
    """Some rows of one table. Bytes are JSON text in all of them, and are stored as text."""

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class Header(msgspec.Struct, frozen=True):
    format: str


async def copy_to(dialer: Dialer, target: Path) -> None:
    """Write a copy. The file gets its name only when it is complete."""
    half = target.with_name(f".{target.name}.half")
    half.unlink(missing_ok=True)
    try:
        with gzip.open(half, "xb", compresslevel=6) as file:
            half.chmod(0o600)
            file.write(msgspec.json.encode(Header(FORMAT)) + b"\n")
            async with apart(dialer) as connection:
                await connection.execute("begin isolation level repeatable read read only")
                for table in TABLES:
                    await _copy_table(connection, table, file)
        half.replace(target)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        half.unlink(missing_ok=True)


async def restore(url: str, source: Path) -> None:
    """Restore a copy into an empty database. Raise for a database that has sessions."""
    dialer = Dialer(url=url, token=uuid.uuid4().hex)
    await migrate(dialer)
    async with apart(dialer) as connection, connection.transaction():
        cursor = await connection.execute("select from sessions limit 1")
        if cursor.rowcount:
            raise Rejected("The database has sessions in it. Restore into an empty one.")
        for chunk in await asyncio.to_thread(lambda: list(_chunks(source))):
            await _load(connection, chunk)
    await rebuild_all(dialer)


async def _copy_table(connection: Connection, table: str, file: gzip.GzipFile) -> None:
    async with connection.cursor(name=f"copy_{table}", binary=True) as cursor:
        await cursor.execute(UPKEEP[f"copy_{table}"])
        columns = tuple(column.name for column in cursor.description or ())
        while rows := await cursor.fetchmany(ROWS_AT_ONCE):
            chunk = CopyChunk(table, columns, tuple(_as_text(row) for row in rows))
            await asyncio.to_thread(file.write, msgspec.json.encode(chunk) + b"\n")


async def _load(connection: Connection, chunk: CopyChunk) -> None:
    if chunk.table not in TABLES:
        raise StoreCorrupt(f"the copy holds rows of an unknown table {chunk.table}")
    rows = [dict(zip(chunk.columns, row, strict=True)) for row in chunk.rows]
    if chunk.table == "outbox":
        rows = [{**row, **_derived(row["reply"])} for row in rows]
    async with connection.cursor() as cursor:
        await cursor.executemany(UPKEEP[f"load_{chunk.table}"], rows)


def _derived(body: str) -> dict[str, str | bool]:
    """Return the outbox columns that repeat what the reply itself says."""
    reply = decode_reply(body.encode())
    return {"chat": sound(reply.address.chat), "ordered": reply.kind != "removal"}


def _chunks(source: Path) -> Iterator[CopyChunk]:
    """Yield one table's rows at a time. A truncated copy is an error, not a shorter history."""
    try:
        with gzip.open(source, "rb") as file:
            lines: Iterable[bytes] = file
            for number, line in enumerate(lines):
                if number:
                    yield msgspec.json.decode(line, type=CopyChunk)
                elif msgspec.json.decode(line, type=Header).format != FORMAT:
                    raise StoreCorrupt(f"{source} is not a copy that this Hermes can read")
    except (EOFError, gzip.BadGzipFile, msgspec.MsgspecError) as broken:
        raise StoreCorrupt(f"{source} is damaged: {broken}") from broken
    except OSError as error:
        raise StoreFailed(f"{source}: {error.strerror}") from error


def _as_text(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(value.decode() if isinstance(value, bytes) else value for value in row)
