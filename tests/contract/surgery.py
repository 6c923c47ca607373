"""Reaches into a database from outside, as another version of Hermes would have left it."""

from collections.abc import Callable

import apsw
import psycopg


def make_newer(place: str) -> Callable[[], object]:
    """Returns what makes it as it was."""
    if place.startswith("postgresql:"):
        run(place, "insert into hermes.schema_version (version) values (999)")
        return lambda: run(place, "delete from hermes.schema_version where version = 999")
    version = run(place, "pragma user_version")[0][0]
    run(place, "pragma user_version = 999")
    return lambda: run(place, f"pragma user_version = {version}")


def make_older(place: str) -> None:
    """An empty database, with nothing of ours in it yet."""
    if place.startswith("postgresql:"):
        run(place, "create schema hermes")
    else:
        run(place, "pragma user_version = 0")


def forge(place: str, *statements: str) -> None:
    """Change the audit log as somebody would who can write to the database; {audit} is its table.
    What guards it against our own mistakes is no hindrance."""
    if place.startswith("postgresql:"):
        run(place, "alter table hermes.audit disable trigger user")
        named = "hermes.audit"
    else:
        run(place, "drop trigger if exists audit_unchanged")
        run(place, "drop trigger if exists audit_kept")
        named = "audit"
    for sql in statements:
        run(place, sql.format(audit=named))


def run(place: str, sql: str) -> list[tuple[object, ...]]:
    if place.startswith("postgresql:"):
        with psycopg.connect(place, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []
    file = apsw.Connection(place)
    try:
        return file.execute(sql).fetchall()
    finally:
        file.close()
