"""hermes doctor: run small checks, each with the one command that fixes what it finds."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import apsw

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.doctor import calls as doctor_calls
from hermes.cli.doctor import home as doctor_home
from hermes.cli.doctor import sessions as doctor_sessions
from hermes.cli.doctor.check import DoctorCheck, Patient, failed
from hermes.cli.doctor.sandbox import sandbox_findings
from hermes.cli.errors import DONE, FAILED
from hermes.cli.gateway.service.service import ServiceContext
from hermes.cli.gateway.service.supervisor import supervisors
from hermes.cli.options import json_option
from hermes.cli.output.hints import as_called
from hermes.installed import how_to_renew
from hermes.settings import survey
from hermes.settings.home import CONFIG

if TYPE_CHECKING:
    from argparse import ArgumentParser


PYTHON_MIN, SQLITE_MIN = (3, 11), (3, 51, 3)


class DoctorOptions(JsonOptions):
    no_calls: bool
    verbose: bool


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--no-calls", action="store_true", help="make no calls to the model or the platforms"
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="all that the sandbox guards, line by line, and what each channel can do",
    )
    json_option(parser)


def run(options: DoctorOptions, context: CliContext) -> int:
    settings, problems = survey(context.home, context.environ)
    patient = Patient(
        home=context.home,
        settings=settings,
        problems=problems,
        environ=context.environ,
        now=context.clock(),
        calls=not options.no_calls,
        verbose=options.verbose,
    )
    found = [_print(each, context, options) for check in CHECKS for each in check(patient)]
    found += [_print(each, context, options) for each in _service(patient, context)]
    well = all(each.ok for each in found)
    if options.json:
        checks = [
            {"check": each.name, "ok": each.ok, "detail": each.detail, "fix": each.fix}
            for each in found
        ]
        context.console.document({"ok": well, "checks": checks})
    else:
        wrong = sum(not each.ok for each in found)
        count = f"{wrong} of {len(found)} checks failed: see above."
        context.console.say("\nNo problems found." if well else f"\n{count}")
    return DONE if well else FAILED


def _print(check: DoctorCheck, context: CliContext, options: DoctorOptions) -> DoctorCheck:
    """Print a result as soon as it is known, because some checks take a while, and return it."""
    told = as_called(check.detail, context.environ), as_called(check.fix, context.environ)
    check = replace(check, detail=told[0], fix=told[1])
    if not options.json:
        context.console.say(_line(check))
    return check


def _python(_patient: Patient) -> Iterator[DoctorCheck]:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= PYTHON_MIN
    fix = "" if ok else "HERMES_PYTHON=/path/to/python3.13 ./hermes"
    yield DoctorCheck(name="python", ok=ok, detail=version, fix=fix)


def _sqlite(_patient: Patient) -> Iterator[DoctorCheck]:
    version = apsw.sqlite_lib_version()
    ok = tuple(map(int, version.split(".")[:3])) >= SQLITE_MIN
    fix = "" if ok else how_to_renew("apsw")
    yield DoctorCheck(name="sqlite", ok=ok, detail=version, fix=fix)


def _settings(patient: Patient) -> Iterator[DoctorCheck]:
    for notice in patient.settings.notices:
        yield DoctorCheck(name="secrets", ok=True, detail=notice)
    for problem in patient.problems:
        yield failed("settings", problem)
    if not patient.problems:
        there = (patient.home / CONFIG).exists()
        detail = str(patient.home / CONFIG) if there else "defaults (no config.yaml)"
        yield DoctorCheck(name="settings", ok=True, detail=detail)


def _sandbox(patient: Patient) -> Iterator[DoctorCheck]:
    if patient.unread:
        yield patient.not_checked("sandbox")
        return
    found = sandbox_findings(
        patient.home, patient.settings, patient.environ, verbose=patient.verbose
    )
    for detail, ok, fix in found:
        yield DoctorCheck(name="sandbox", ok=ok, detail=detail, fix=fix)


def _approvals(patient: Patient) -> Iterator[DoctorCheck]:
    """Report the owner's choices about approvals."""
    mode = patient.settings.approvals.mode
    details = {
        "ask": "Hermes asks you about calls that the policy does not allow",
        "allow": "off: approvals.mode is allow (your choice), so Hermes never asks",
        "deny": "approvals.mode is deny (your choice): Hermes refuses instead of asking",
    }
    yield DoctorCheck(name="approvals", ok=True, detail=details[mode])


def _service(patient: Patient, context: CliContext) -> Iterator[DoctorCheck]:
    """Check the service if it is installed. Not to install it is a choice."""
    for supervisor in supervisors(patient.home, patient.environ):
        if not supervisor.file.is_file():
            continue
        if not supervisor.answers():
            detail = f"{supervisor.file} exists, but {supervisor.kind} is not available"
            fix = f"loginctl enable-linger {patient.environ.get('USER', '$USER')}"
            yield DoctorCheck(name="service", ok=False, detail=detail, fix=fix)
        elif supervisor.file.read_bytes() != supervisor.content(
            ServiceContext(context=context).plan()
        ):
            detail = f"{supervisor.file} belongs to another version or folder"
            yield DoctorCheck(name="service", ok=False, detail=detail, fix="hermes gateway install")
        elif not supervisor.engaged():
            detail = f"{supervisor.kind} does not run the gateway"
            yield DoctorCheck(name="service", ok=False, detail=detail, fix="hermes gateway start")
        else:
            detail = f"kept by {supervisor.kind} (pid {supervisor.main_pid()})"
            yield DoctorCheck(name="service", ok=True, detail=detail)
        return
    detail = "not installed; to have it always on: hermes gateway install"
    yield DoctorCheck(name="service", ok=True, detail=detail)


CHECKS: tuple[Callable[[Patient], Iterator[DoctorCheck]], ...] = (
    _python,
    _sqlite,
    doctor_home.home,
    doctor_home.space,
    doctor_calls.clock,
    _settings,
    doctor_home.database,
    doctor_sessions.sessions,
    doctor_home.leftovers,
    _sandbox,
    _approvals,
    doctor_calls.model,
    doctor_calls.channels,
)


def _line(check: DoctorCheck) -> str:
    mark = "ok  " if check.ok else "FAIL"
    line = f"{mark}  {check.name:<9} {' '.join(check.detail.split())}"
    return f"{line}\n      {'fix:':<9} {check.fix}" if check.fix else line


COMMAND = CliCommand(
    options=DoctorOptions,
    run=run,
    arguments=_arguments,
    more="Without --no-calls it sends the model one short question and each platform one request.",
)
