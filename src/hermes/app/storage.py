"""Open the store of a home as the settings say, or only check it. Part of the composition root.

Only what is used is imported.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.app.engine import LEASE_S
from hermes.core.errors import Misconfigured
from hermes.core.store import Store
from hermes.installed import how_to_add
from hermes.lazy import LazyModule
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.stores import audit_key as audit_keys
    from hermes.stores import postgres, sqlite
else:
    audit_keys = LazyModule("hermes.stores.audit_key")
    postgres = LazyModule("hermes.stores.postgres")
    sqlite = LazyModule("hermes.stores.sqlite")

SQLITE, POSTGRES = "sqlite", ("postgresql://", "postgres://")
CALLS = "calls"  # the folder of a home for what commands leave
SCRATCH = "scratch"  # the folder of a home for what conversations keep in their /tmp


@asynccontextmanager
async def store_only(home: Path, settings: Settings) -> AsyncIterator[Store]:
    """Open the store for listings, without engine and model."""
    store = await _open_store(home, settings)
    try:
        yield store
    finally:
        await store.upkeep.close()


async def demand_store(home: Path, settings: Settings) -> None:
    """Raise Misconfigured or StoreFailed when `store_only` would. Nothing is migrated: a process
    of an older version may be at work."""
    url = settings.store.url
    audit_key_of(home, settings)
    if url == SQLITE:
        sqlite.check_sqlite(home / "hermes.db")
    elif url.startswith(POSTGRES):
        try:
            check = postgres.check_postgres
        except ModuleNotFoundError as missing:
            raise _not_installed(missing) from missing
        await check(url)
    else:
        raise _unknown(url)


def audit_key_of(home: Path, settings: Settings) -> bytes:
    return audit_keys.audit_key(home, settings.secrets.get("HERMES_AUDIT_KEY", ""))


async def _open_store(home: Path, settings: Settings) -> Store:
    url = settings.store.url
    if url == SQLITE:
        return await sqlite.open_sqlite(
            home / "hermes.db",
            clock=time.time,
            lease_s=LEASE_S,
            audit_key=audit_key_of(home, settings),
        )
    if url.startswith(POSTGRES):
        try:
            open_ = postgres.open_postgres
        except ModuleNotFoundError as missing:
            raise _not_installed(missing) from missing
        key = audit_key_of(home, settings)
        return await open_(url, clock=time.time, lease_s=LEASE_S, audit_key=key)
    raise _unknown(url)


def _not_installed(missing: ModuleNotFoundError) -> Misconfigured:
    fix = f"Run: {how_to_add('postgres')}"
    return Misconfigured("store.url", f"needs the package {missing.name}", fix)


def _unknown(url: str) -> Misconfigured:
    return Misconfigured("store.url", f"{url!r} is unknown", "Use sqlite or postgresql://…")
