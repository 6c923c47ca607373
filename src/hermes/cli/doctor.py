"""hermes doctor: a list of small checks, each with the one command that fixes what it finds."""

import asyncio
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence

import apsw

from hermes.app import store_only
from hermes.cli import doctor_calls
from hermes.cli.doctor_check import Check, Patient, failed
from hermes.cli.doctor_grammar import Doctor
from hermes.cli.doctor_sandbox import sandbox_findings
from hermes.cli.errors import DONE, FAILED
from hermes.cli.place import Place
from hermes.cli.restore import STAGING
from hermes.cli.service.service import Ground
from hermes.cli.service.supervisor import supervisors
from hermes.core.errors import HermesError
from hermes.settings import survey
from hermes.settings.home import CONFIG, DATABASE

PYTHON_MIN, SQLITE_MIN = (3, 11), (3, 51, 3)
SPACE_MIN = 500_000_000


def run(given: Doctor, place: Place) -> int:
    settings, problems = survey(place.home, place.environ)
    patient = Patient(
        home=place.home,
        settings=settings,
        problems=problems,
        environ=place.environ,
        now=place.clock(),
        calls=not given.no_calls,
    )
    found = [_shown(each, place, given) for check in CHECKS for each in check(patient)]
    found += [_shown(each, place, given) for each in _service(patient, place)]
    well = all(each.ok for each in found)
    if given.json:
        checks = [
            {"check": each.name, "ok": each.ok, "detail": each.detail, "fix": each.fix}
            for each in found
        ]
        place.console.document({"ok": well, "checks": checks})
    else:
        wrong = sum(not each.ok for each in found)
        count = f"{wrong} of {len(found)} checks need you: see above."
        place.console.say("\nAll is well." if well else f"\n{count}")
    return DONE if well else FAILED


def _shown(check: Check, place: Place, given: Doctor) -> Check:
    """As soon as it is known: some take a while."""
    if not given.json:
        place.console.say(_line(check))
    return check


def _python(_patient: Patient) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= PYTHON_MIN
    fix = "" if ok else "HERMES_PYTHON=/path/to/python3.13 ./hermes"
    yield Check(name="python", ok=ok, detail=version, fix=fix)


def _sqlite(_patient: Patient) -> Iterator[Check]:
    version = apsw.sqlite_lib_version()
    ok = tuple(map(int, version.split(".")[:3])) >= SQLITE_MIN
    fix = "" if ok else "pip install --upgrade apsw"
    yield Check(name="sqlite", ok=ok, detail=version, fix=fix)


def _home(patient: Patient) -> Iterator[Check]:
    home = patient.home
    if not home.exists():
        yield Check(name="home", ok=True, detail=f"{home} (made when it is first needed)")
        return
    if not home.is_dir():
        detail = f"{home} is not a folder"
        yield Check(name="home", ok=False, detail=detail, fix="export HERMES_HOME=~/.hermes")
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        detail = f"others can look into {home} (mode {mode:04o})"
        yield Check(name="home", ok=False, detail=detail, fix=f"chmod 700 {home}")
    else:
        yield Check(name="home", ok=True, detail=str(home))


def _space(patient: Patient) -> Iterator[Check]:
    folder = next(path for path in (patient.home, *patient.home.parents) if path.is_dir())
    free = shutil.disk_usage(folder).free
    ok = free >= SPACE_MIN
    fix = "" if ok else f"du -xh {folder} | sort -h | tail"
    yield Check(name="disk", ok=ok, detail=f"{free / 1e9:.1f} GB free", fix=fix)


def _settings(patient: Patient) -> Iterator[Check]:
    for notice in patient.settings.notices:
        yield Check(name="secrets", ok=True, detail=notice)
    for problem in patient.problems:
        yield failed("settings", problem)
    if not patient.problems:
        there = (patient.home / CONFIG).exists()
        detail = str(patient.home / CONFIG) if there else "defaults (no config.yaml)"
        yield Check(name="settings", ok=True, detail=detail)


def _database(patient: Patient) -> Iterator[Check]:
    file = patient.home / DATABASE
    if patient.settings.store.url == "sqlite" and not file.exists():
        yield Check(name="database", ok=True, detail="none yet")
        return
    try:
        problems = asyncio.run(_checked(patient))
    except HermesError as failure:
        problems = [str(failure)]
    for problem in problems:
        fix = "hermes restore --force FILE   (FILE: your last backup)"
        yield Check(name="database", ok=False, detail=problem, fix=fix)
    if not problems:
        kind = str(file) if patient.settings.store.url == "sqlite" else "PostgreSQL"
        yield Check(name="database", ok=True, detail=f"{kind} is whole")


def _leftovers(patient: Patient) -> Iterator[Check]:
    for folder in patient.home.glob(f"{STAGING}*"):
        detail = f"a restore did not come to its end: {folder}"
        yield Check(name="restore", ok=False, detail=detail, fix=f"rm -r {folder}")


def _sandbox(patient: Patient) -> Iterator[Check]:
    found = sandbox_findings(patient.home, patient.settings, patient.environ)
    for detail, ok, fix in found:
        yield Check(name="sandbox", ok=ok, detail=detail, fix=fix)


def _approvals(patient: Patient) -> Iterator[Check]:
    """Each of them is a choice of the owner, and shown as one."""
    mode = patient.settings.approvals.mode
    details = {
        "ask": "you are asked about what the policy does not allow by itself",
        "allow": "off: approvals.mode is allow, your choice, so nobody is asked about anything",
        "deny": "approvals.mode is deny, your choice: what would be asked about is refused",
    }
    yield Check(name="approvals", ok=True, detail=details[mode])


def _service(patient: Patient, place: Place) -> Iterator[Check]:
    """Only what was installed can be wrong; not to have it is a choice."""
    for supervisor in supervisors(patient.home, patient.environ):
        if not supervisor.file.is_file():
            continue
        if not supervisor.answers():
            detail = f"{supervisor.file} is there, and {supervisor.kind} does not answer"
            fix = f"loginctl enable-linger {patient.environ.get('USER', '$USER')}"
            yield Check(name="service", ok=False, detail=detail, fix=fix)
        elif supervisor.file.read_bytes() != supervisor.content(Ground(place=place).plan()):
            detail = f"{supervisor.file} is not the one of this version or place"
            yield Check(name="service", ok=False, detail=detail, fix="hermes gateway install")
        elif not supervisor.engaged():
            detail = f"{supervisor.kind} does not run the gateway"
            yield Check(name="service", ok=False, detail=detail, fix="hermes gateway start")
        else:
            detail = f"kept by {supervisor.kind} (pid {supervisor.main_pid()})"
            yield Check(name="service", ok=True, detail=detail)
        return
    detail = "not installed; to have it always on: hermes gateway install"
    yield Check(name="service", ok=True, detail=detail)


CHECKS: tuple[Callable[[Patient], Iterator[Check]], ...] = (
    _python,
    _sqlite,
    _home,
    _space,
    doctor_calls.clock,
    _settings,
    _database,
    _leftovers,
    _sandbox,
    _approvals,
    doctor_calls.model,
    doctor_calls.channels,
)


async def _checked(patient: Patient) -> Sequence[str]:
    async with store_only(patient.home, patient.settings) as store:
        return await store.upkeep.check()


def _line(check: Check) -> str:
    mark = "ok  " if check.ok else "FAIL"
    line = f"{mark}  {check.name:<9} {' '.join(check.detail.split())}"
    return f"{line}\n      {'fix:':<9} {check.fix}" if check.fix else line
