"""The input of the doctor's checks, and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes.core.errors import Misconfigured
from hermes.settings import Settings
from hermes.settings.home import CONFIG


@dataclass(frozen=True, kw_only=True)
class DoctorCheck:
    """One result. `fix` is the one command that fixes it; empty when nothing is wrong."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class Patient:
    """The input of the checks, read once."""

    home: Path
    settings: Settings
    problems: Sequence[Misconfigured]
    environ: Mapping[str, str]
    now: float
    calls: bool = True  # may others be asked?
    verbose: bool = False

    @property
    def unread(self) -> bool:
        """Return True if config.yaml could not be read at all: the settings are then defaults."""
        return any(problem.key.endswith(CONFIG) for problem in self.problems)

    def not_checked(self, name: str) -> DoctorCheck:
        return DoctorCheck(name=name, ok=True, detail=f"not checked: {CONFIG} cannot be read")


def failed(name: str, problem: Misconfigured) -> DoctorCheck:
    """Return the result for a wrong setting, whose message contains the fix."""
    what, _, fix = str(problem).rpartition(". ")
    return DoctorCheck(name=name, ok=False, detail=what, fix=fix.removeprefix("Run: "))
