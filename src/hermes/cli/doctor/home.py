"""Check the home: the folder, its disk, and the database in it."""

import asyncio
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

from hermes.app.application import store_only
from hermes.cli.backup.restore import STAGING
from hermes.cli.doctor.check import DoctorCheck, Patient, failed
from hermes.core.errors import (
    HermesError,
    Misconfigured,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from hermes.installed import how_installed
from hermes.settings.home import DATABASE
from hermes.views.files import reason

SPACE_MIN = 500_000_000
ELSEWHERE = "export HERMES_HOME=FOLDER   (FOLDER: one that you can write to)"
RESTORE = "hermes restore --force FILE   (FILE: your last backup)"
SERVER = "hermes config set store.url postgresql://USER@HOST/DATABASE   (or start that server)"


def home(patient: Patient) -> Iterator[DoctorCheck]:
    folder = patient.home
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        detail = f"{folder} cannot be made: {there} is not a folder"
        yield DoctorCheck(name="home", ok=False, detail=detail, fix=ELSEWHERE)
    elif why := _unwritable(there):
        what = "written to" if there == folder else "made"
        fix = f"chmod u+rwx {quote(str(folder))}" if there == folder else ELSEWHERE
        yield DoctorCheck(
            name="home", ok=False, detail=f"{folder} cannot be {what} ({why})", fix=fix
        )
    elif there != folder:
        yield DoctorCheck(name="home", ok=True, detail=f"{folder} (made when it is first needed)")
    elif (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o077:
        detail = f"others can look into {folder} (mode {mode:04o})"
        yield DoctorCheck(
            name="home", ok=False, detail=detail, fix=f"chmod 700 {quote(str(folder))}"
        )
    else:
        yield DoctorCheck(name="home", ok=True, detail=str(folder))


def space(patient: Patient) -> Iterator[DoctorCheck]:
    folder = _nearest(patient.home)
    free = shutil.disk_usage(folder).free
    ok = free >= SPACE_MIN
    said = f"{free / 1e9:.1f} GB free" if free >= 1e8 else f"{free / 1e6:.1f} MB free"
    detail = said if free else "the disk is full"
    yield DoctorCheck(name="disk", ok=ok, detail=detail, fix="" if ok else _largest(folder))


def database(patient: Patient) -> Iterator[DoctorCheck]:
    """Check the database. A restore is advised only for a damaged file, because it replaces the
    data."""
    file = patient.home / DATABASE
    if patient.unread:
        yield patient.not_checked("database")
        return
    if is_sqlite(patient) and not file.exists():
        yield DoctorCheck(name="database", ok=True, detail="none yet")
        return
    try:
        problems = asyncio.run(_checked(patient))
    except Misconfigured as problem:
        yield failed("database", problem)
        return
    except HermesError as failure:
        fix = _fix(patient, failure)
        yield DoctorCheck(name="database", ok=False, detail=str(failure), fix=fix)
        return
    for damage in problems:
        yield DoctorCheck(name="database", ok=False, detail=damage, fix=RESTORE)
    if not problems:
        kind = str(file) if is_sqlite(patient) else "PostgreSQL"
        yield DoctorCheck(name="database", ok=True, detail=f"{kind} is intact")


def leftovers(patient: Patient) -> Iterator[DoctorCheck]:
    for folder in patient.home.glob(f"{STAGING}*"):
        detail = f"a restore was interrupted: {folder}"
        yield DoctorCheck(
            name="restore", ok=False, detail=detail, fix=f"rm -r {quote(str(folder))}"
        )


def is_sqlite(patient: Patient) -> bool:
    return patient.settings.store.url == "sqlite"


def _fix(patient: Patient, failure: HermesError) -> str:
    file = patient.home / DATABASE
    match failure:
        case StoreCorrupt():
            return RESTORE
        case StoreTooNew():
            return how_installed().to_update()
        case _ if not is_sqlite(patient):
            return SERVER
        case StoreFull():
            return _largest(patient.home)
        case StoreBusy():
            return "hermes gateway status   (or close the other program that holds the file)"
        case StoreReadOnly():
            return f"chmod u+w {quote(str(file))}   (or mount its disk for writing)"
        case _:
            return f"ls -ld {quote(str(patient.home))} {quote(str(file))}"


def _largest(folder: Path) -> str:
    return f"du -xh {quote(str(folder))} | sort -h | tail"


def _nearest(path: Path) -> Path:
    return next(each for each in (path, *path.parents) if each.is_dir())


def _unwritable(folder: Path) -> str:
    """Return why no file can be created in the folder; empty when it works. It tries, because
    permissions alone do not show a read-only disk or a virtual folder. A full disk has its own
    row."""
    try:
        with tempfile.TemporaryDirectory(prefix=".hermes-doctor-", dir=folder):
            return ""
    except OSError as refused:
        why = reason(refused)
        return "" if why == "the disk is full" else why


async def _checked(patient: Patient) -> Sequence[str]:
    async with store_only(patient.home, patient.settings) as store:
        return await store.upkeep.check()
