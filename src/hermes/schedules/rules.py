"""What is known about this home when a job is made: its zone, its limits, what there is to name."""

from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import Struct

from hermes.core.jobs import Missed
from hermes.views.jobs import JobView

SCRIPT_STEP_S_MIN = 10.0  # between two runs of a job without a model


def _as_it_is(text: str) -> str:
    return text


class JobRules(Struct, frozen=True, kw_only=True):
    """Settings, and questions to other parts. Those that check a name raise Rejected or
    Misconfigured with the names that there are."""

    home: Path
    zone: str
    step_s_min: float = 60.0
    missed: Missed = "once"
    keep_runs: int = 200
    platforms: Collection[str] = ()
    toolsets: Collection[str] = ()
    model: Callable[[str], str] = _as_it_is
    skills: Callable[[], Collection[str]] = tuple
    clean: Callable[[str], str] = _as_it_is  # without secrets
    system: Callable[[], tuple[JobView, ...]] = tuple  # what Hermes does by itself

    @property
    def scripts(self) -> Path:
        return self.home / "scripts"

    @property
    def folder(self) -> Path:
        """Where jobs keep their pinned scripts, and answers that go nowhere else."""
        return self.home / "schedules"
