"""Run numbered SQL files in order, in one transaction, under a lock that ends with the connection.

Of two processes that start together, the second waits and finds the work done. A migration that
fails leaves the schema as it was, because PostgreSQL's DDL is transactional.
"""

from importlib import resources

from hermes.core.errors import Misconfigured, StoreTooNew
from hermes.stores.postgres.connections import SCHEMA, Connection, Dialer, apart

LOCK = 0x6865726D6573  # "hermes", as the number of an advisory lock


async def migrate(dialer: Dialer) -> None:
    """Bring the schema up to date. Raise StoreTooNew when a newer Hermes wrote this database."""
    async with apart(dialer) as connection:
        await _demand_utf8(connection)
        steps = _steps()
        if await _version(connection) == len(steps):
            return
        await connection.execute("set lock_timeout = 0")
        # Outside the transaction: one that waits inside may not see the tables made meanwhile.
        await connection.execute("select pg_advisory_lock(%s)", (LOCK,))
        async with connection.transaction():
            version = await _version(connection)
            _demand_known(version, len(steps))
            await connection.execute(f"create schema if not exists {SCHEMA}".encode())
            for number, step in list(enumerate(steps, start=1))[version:]:
                await connection.execute(step.encode())
                await _set_version(connection, number)


async def demand_usable(dialer: Dialer) -> None:
    """Raise what `migrate` would, without changing anything."""
    async with apart(dialer) as connection:
        await _demand_utf8(connection)
        _demand_known(await _version(connection), len(_steps()))


def _demand_known(version: int, known: int) -> None:
    if version > known:
        raise StoreTooNew(
            f"The database was written by a newer Hermes (schema {version}, this one "
            f"knows {known}). Update Hermes, or restore an older backup."
        )


async def _version(connection: Connection) -> int:
    cursor = await connection.execute("select to_regclass(%s)", (f"{SCHEMA}.schema_version",))
    if await cursor.fetchone() == (None,):
        return 0
    cursor = await connection.execute("select coalesce(max(version), 0) from schema_version")
    return int((await cursor.fetchall())[0][0])


async def _set_version(connection: Connection, number: int) -> None:
    await connection.execute(
        "create table if not exists schema_version ("
        "version bigint primary key, migrated_at timestamptz not null default now())"
    )
    await connection.execute("insert into schema_version (version) values (%s)", (number,))


async def _demand_utf8(connection: Connection) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        fix = "Create it with `createdb --encoding=UTF8`."
        raise Misconfigured("store.url", f"the database's encoding is {encoding}", fix)


def _steps() -> list[str]:
    folder = resources.files("hermes.stores.postgres") / "sql" / "migrations"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in files]
