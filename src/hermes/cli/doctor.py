"""hermes doctor: a list of small checks, each with the one command that fixes what it finds."""

import asyncio
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import apsw

from hermes.app import store_only
from hermes.cli.command import Shown
from hermes.cli.errors import DONE, FAILED
from hermes.cli.place import Place
from hermes.cli.restore import STAGING
from hermes.core.errors import HermesError, Misconfigured
from hermes.models import model_provider
from hermes.settings import Settings, survey
from hermes.settings.home import CONFIG, DATABASE

PYTHON_MIN, SQLITE_MIN = (3, 11), (3, 51, 3)
SPACE_MIN = 500_000_000


@dataclass(frozen=True, kw_only=True)
class Finding:
    check: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class Patient:
    """What the checks look at, read once."""

    home: Path
    settings: Settings
    problems: Sequence[Misconfigured]


def run(given: Shown, place: Place) -> int:
    settings, problems = survey(place.home, place.environ)
    patient = Patient(home=place.home, settings=settings, problems=problems)
    findings = [finding for check in CHECKS for finding in check(patient)]
    well = all(finding.ok for finding in findings)
    if given.json:
        place.console.document({"ok": well, "checks": [_plain(each) for each in findings]})
    else:
        for finding in findings:
            place.console.say(_line(finding))
        place.console.say("\nAll is well." if well else "\nSomething needs you: see above.")
    return DONE if well else FAILED


def _python(_patient: Patient) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= PYTHON_MIN
    fix = "" if ok else "HERMES_PYTHON=/path/to/python3.13 ./hermes"
    yield Finding(check="python", ok=ok, detail=version, fix=fix)


def _sqlite(_patient: Patient) -> Iterator[Finding]:
    version = apsw.sqlite_lib_version()
    ok = tuple(map(int, version.split(".")[:3])) >= SQLITE_MIN
    fix = "" if ok else "pip install --upgrade apsw"
    yield Finding(check="sqlite", ok=ok, detail=version, fix=fix)


def _home(patient: Patient) -> Iterator[Finding]:
    home = patient.home
    if not home.exists():
        yield Finding(check="home", ok=True, detail=f"{home} (made when it is first needed)")
        return
    if not home.is_dir():
        detail = f"{home} is not a folder"
        yield Finding(check="home", ok=False, detail=detail, fix="export HERMES_HOME=~/.hermes")
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        detail = f"others can look into {home} (mode {mode:04o})"
        yield Finding(check="home", ok=False, detail=detail, fix=f"chmod 700 {home}")
    else:
        yield Finding(check="home", ok=True, detail=str(home))


def _space(patient: Patient) -> Iterator[Finding]:
    folder = next(path for path in (patient.home, *patient.home.parents) if path.is_dir())
    free = shutil.disk_usage(folder).free
    ok = free >= SPACE_MIN
    fix = "" if ok else f"du -xh {folder} | sort -h | tail"
    yield Finding(check="disk", ok=ok, detail=f"{free / 1e9:.1f} GB free", fix=fix)


def _settings(patient: Patient) -> Iterator[Finding]:
    for notice in patient.settings.notices:
        yield Finding(check="secrets", ok=True, detail=notice)
    for problem in patient.problems:
        yield _failed("settings", problem)
    if not patient.problems:
        there = (patient.home / CONFIG).exists()
        detail = str(patient.home / CONFIG) if there else "defaults (no config.yaml)"
        yield Finding(check="settings", ok=True, detail=detail)


def _model(patient: Patient) -> Iterator[Finding]:
    model = patient.settings.model
    if not model.provider:
        fix = "hermes config set model.provider openrouter"
        yield Finding(check="model", ok=False, detail="nobody is chosen to answer", fix=fix)
        return
    try:
        provider = model_provider(patient.settings)
    except Misconfigured as problem:
        yield _failed("model", problem)
    else:
        yield Finding(check="model", ok=True, detail=provider.name)


def _database(patient: Patient) -> Iterator[Finding]:
    file = patient.home / DATABASE
    if patient.settings.store.url == "sqlite" and not file.exists():
        yield Finding(check="database", ok=True, detail="none yet")
        return
    try:
        problems = asyncio.run(_checked(patient))
    except HermesError as failure:
        problems = [str(failure)]
    for problem in problems:
        fix = "hermes restore --force FILE   (FILE: your last backup)"
        yield Finding(check="database", ok=False, detail=problem, fix=fix)
    if not problems:
        kind = str(file) if patient.settings.store.url == "sqlite" else "PostgreSQL"
        yield Finding(check="database", ok=True, detail=f"{kind} is whole")


def _leftovers(patient: Patient) -> Iterator[Finding]:
    for folder in patient.home.glob(f"{STAGING}*"):
        detail = f"a restore did not come to its end: {folder}"
        yield Finding(check="restore", ok=False, detail=detail, fix=f"rm -r {folder}")


CHECKS: tuple[Callable[[Patient], Iterator[Finding]], ...] = (
    _python,
    _sqlite,
    _home,
    _space,
    _settings,
    _model,
    _database,
    _leftovers,
)


async def _checked(patient: Patient) -> Sequence[str]:
    async with store_only(patient.home, patient.settings) as store:
        return await store.upkeep.check()


def _failed(check: str, problem: Misconfigured) -> Finding:
    what, _, fix = str(problem).rpartition(". ")
    return Finding(check=check, ok=False, detail=what, fix=fix.removeprefix("Run: "))


def _plain(finding: Finding) -> Mapping[str, object]:
    return asdict(finding)


def _line(finding: Finding) -> str:
    mark = "ok  " if finding.ok else "FAIL"
    line = f"{mark}  {finding.check:<9} {' '.join(finding.detail.split())}"
    return f"{line}\n      {'fix:':<9} {finding.fix}" if finding.fix else line
