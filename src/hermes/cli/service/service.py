"""What the commands share: who supervises this home's gateway, how to signal it, wait and tell."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermes.cli.place import Place
from hermes.cli.service.errors import ServiceFailed
from hermes.cli.service.lock import Running, note
from hermes.cli.service.progress import Progress
from hermes.cli.service.supervisor import Supervisor, supervisors
from hermes.cli.service.units import Plan
from hermes.cli.times import ago
from hermes.settings import survey

Ready = Callable[[], bool]
COMMAND = (sys.executable, "-I", "-m", "hermes", "gateway", "run")
TURN = "HERMES_TURN"


def at_once() -> bool:
    """For a gateway that is ready as soon as it has taken the lock and said so."""
    return True


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long things may take, in seconds; `stop_s` is on top of the gateway's own drain."""

    ready_s: float = 30.0
    stop_s: float = 15.0
    hurry_s: float = 1.0
    force_s: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What a service command stands on. `command` runs a gateway in the foreground, `ready` tells
    whether the one that holds the lock serves already."""

    place: Place
    command: tuple[str, ...] = COMMAND
    ready: Ready = at_once
    platform: str = sys.platform
    patience: Patience = Patience()

    @property
    def home(self) -> Path:
        return self.place.home

    @property
    def in_turn(self) -> bool:
        """Are we a command that the gateway itself runs? Then it waits for us, not we for it."""
        return bool(self.place.environ.get(TURN))

    def drain_s(self) -> float:
        """Also when something else in the settings is wrong: a gateway can always be stopped."""
        settings, _problems = survey(self.home, self.place.environ)
        return settings.gateway.drain_timeout_s

    def supervisor(self) -> Supervisor | None:
        """The one that answers here."""
        own = supervisors(self.home, self.place.environ, self.platform)
        return next((each for each in own if each.answers()), None)

    def installed(self) -> Supervisor | None:
        """The one that was told to keep this gateway."""
        found = self.supervisor()
        return found if found is not None and found.file.is_file() else None

    def plan(self) -> Plan:
        return Plan(
            command=self.command,
            home=str(self.home),
            path=self.place.environ.get("PATH", ""),
            drain_s=self.drain_s(),
        )

    def renewed(self, before: Running | None) -> bool:
        """Has another one come up? Told by the note alone: to look at the lock could get in the
        way of who takes it just now."""
        noted = note(self.home)
        return noted is not None and noted != before and self.ready()

    def progress(self, text: str) -> Progress:
        return Progress(self.place.console, text)

    def say(self, text: str) -> None:
        self.place.console.say(text)

    def complain(self, text: str, last_words: str = "") -> None:
        """Why it did not work, under what the gateway said itself."""
        for line in last_words.splitlines():
            self.place.console.tell(f"  {line}")
        self.place.console.tell(f"hermes: {' '.join(text.split())}")

    def named(self, who: Running) -> str:
        return f"pid {who.pid}, started {ago(who.started_at, self.place.clock())}"


def send(who: Running, number: signal.Signals) -> None:
    """Raises ServiceFailed. One that is gone already needs no signal."""
    try:
        os.kill(who.pid, number)
    except ProcessLookupError:
        return
    except PermissionError as refused:
        fix = f"Run this as the user who started it: ps -o user= -p {who.pid}"
        raise ServiceFailed(f"the gateway (pid {who.pid}) is not yours. {fix}") from refused
