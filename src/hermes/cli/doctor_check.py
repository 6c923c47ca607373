"""What a check of the doctor looks at, and what it says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes.core.errors import Misconfigured
from hermes.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Check:
    """One finding. `fix` is the one command that mends it; empty where nothing is wrong."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, kw_only=True)
class Patient:
    """What the checks look at, read once."""

    home: Path
    settings: Settings
    problems: Sequence[Misconfigured]
    environ: Mapping[str, str]
    now: float
    calls: bool = True  # may others be asked?


def failed(name: str, problem: Misconfigured) -> Check:
    """A setting that is wrong says itself how it is mended."""
    what, _, fix = str(problem).rpartition(". ")
    return Check(name=name, ok=False, detail=what, fix=fix.removeprefix("Run: "))
