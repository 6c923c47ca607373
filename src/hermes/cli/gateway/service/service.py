"""Shared by the service commands: the supervisor of this home's gateway, signals, waiting."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermes.cli.context import CliContext
from hermes.cli.gateway.service.errors import ServiceFailed
from hermes.cli.gateway.service.lock import RunningGateway, note
from hermes.cli.gateway.service.progress import WaitProgress
from hermes.cli.gateway.service.supervisor import Supervisor, supervisors
from hermes.cli.gateway.service.units import UnitPlan
from hermes.cli.output.times import ago
from hermes.settings import survey

Ready = Callable[[], bool]
COMMAND = (sys.executable, "-I", "-m", "hermes", "gateway", "run")
TURN = "HERMES_TURN"


def at_once() -> bool:
    """Return True: for a gateway that is ready as soon as it holds the lock."""
    return True


@dataclass(frozen=True, kw_only=True)
class ServicePatience:
    """Time limits in seconds; `stop_s` is added to the gateway's own drain time."""

    ready_s: float = 30.0
    stop_s: float = 15.0
    hurry_s: float = 1.0
    force_s: float = 10.0


@dataclass(frozen=True, kw_only=True)
class ServiceContext:
    """The context of a service command. `command` runs a gateway in the foreground, `ready` tells
    whether the one that holds the lock already serves."""

    context: CliContext
    command: tuple[str, ...] = COMMAND
    ready: Ready = at_once
    platform: str = sys.platform
    patience: ServicePatience = ServicePatience()

    @property
    def home(self) -> Path:
        return self.context.home

    @property
    def in_turn(self) -> bool:
        """Return True if the gateway itself runs this command in a turn: it then waits for the
        command, so the command must not wait for it."""
        return bool(self.context.environ.get(TURN))

    def drain_s(self) -> float:
        """Return the drain time, also when other settings are wrong: a gateway can always be
        stopped."""
        settings, _problems = survey(self.home, self.context.environ)
        return settings.gateway.drain_timeout_s

    def supervisor(self) -> Supervisor | None:
        """Return the supervisor that answers here."""
        own = supervisors(self.home, self.context.environ, self.platform)
        return next((each for each in own if each.answers()), None)

    def installed(self) -> Supervisor | None:
        """Return the supervisor that has this gateway as a service."""
        found = self.supervisor()
        return found if found is not None and found.file.is_file() else None

    def plan(self) -> UnitPlan:
        return UnitPlan(
            command=self.command,
            home=str(self.home),
            path=self.context.environ.get("PATH", ""),
            drain_s=self.drain_s(),
        )

    def renewed(self, before: RunningGateway | None) -> bool:
        """Return True if another gateway has started. It reads only the note: checking the lock
        could disturb the process that is just taking it."""
        noted = note(self.home)
        return noted is not None and noted != before and self.ready()

    def progress(self, text: str) -> WaitProgress:
        return WaitProgress(self.context.console, text)

    def say(self, text: str) -> None:
        self.context.console.say(text)

    def complain(self, text: str, last_words: str = "") -> None:
        """Print why it failed, below the gateway's own last output."""
        for line in last_words.splitlines():
            self.context.console.tell(f"  {line}")
        self.context.console.tell(f"hermes: {' '.join(text.split())}")

    def named(self, who: RunningGateway) -> str:
        return f"pid {who.pid}, started {ago(who.started_at, self.context.clock())}"


def send(who: RunningGateway, number: signal.Signals) -> None:
    """Send a signal; a process that is gone needs none. Raise ServiceFailed."""
    try:
        os.kill(who.pid, number)
    except ProcessLookupError:
        return
    except PermissionError as refused:
        fix = f"Run this as the user who started it: ps -o user= -p {who.pid}"
        raise ServiceFailed(f"the gateway (pid {who.pid}) is not yours. {fix}") from refused
