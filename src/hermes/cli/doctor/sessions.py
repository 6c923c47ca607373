"""Check for sessions that cannot be read."""

import asyncio
from collections.abc import Iterator

from hermes.app.application import store_only
from hermes.cli.doctor.check import DoctorCheck, Patient
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.store import load_session
from hermes.core.errors import HermesError
from hermes.core.session import Session
from hermes.settings.home import DATABASE

SESSIONS_MAX = 20_000  # the latest; each is loaded as the gateway would load it


def sessions(patient: Patient) -> Iterator[DoctorCheck]:
    """Yield a result for each session that cannot be continued."""
    if patient.settings.store.url == "sqlite" and not (patient.home / DATABASE).exists():
        return
    try:
        count, broken = asyncio.run(_looked_at(patient))
    except HermesError:
        return  # the check of the database says what is wrong with it
    for name, why in broken:
        fix = f"send /new there, or: hermes sessions delete {name}"
        detail = f"{name} cannot be read: {why}"
        yield DoctorCheck(name="sessions", ok=False, detail=detail, fix=fix)
    if not broken:
        yield DoctorCheck(name="sessions", ok=True, detail=f"{count:,} can be read")


async def _looked_at(patient: Patient) -> tuple[int, list[tuple[str, str]]]:
    broken = []
    async with store_only(patient.home, patient.settings) as store:
        rows = await store.library.sessions(limit=SESSIONS_MAX)
        for row in rows:
            found = await load_session(store, row.key)
            if not isinstance(found, Session):
                broken.append((session_name(row.key), str(found)))
    return len(rows), broken
