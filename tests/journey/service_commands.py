"""The service commands on a home of their own, with fake supervisors."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from doubles.service_program import main
from hermes.cli.gateway.service.lock import RunningGateway, held, note
from journey.cli_program import UNSET, Done, Program
from unit.cli.stage import stage

DOUBLES = Path(__file__).parents[1] / "doubles"
NAMES = ("systemctl", "journalctl", "loginctl", "launchctl")
ASKING = {"journalctl", "print", "show", "show-environment", "show-user"}
PATIENCE_S = 60.0


class Commands(Program):
    """Run `hermes gateway …` with a fake gateway. No supervisor answers unless one is given."""

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-P", str(DOUBLES / "service_program.py"), *words]

    def do(self, *words: str) -> Done:
        """Do the same as `run` in this process: starting another one takes most of the time."""
        console = stage()
        status = main(list(words), self.env(), console)
        return Done(status, console.stdout.getvalue(), console.stderr.getvalue())

    def give_supervisor(self, *, platform: str = "linux") -> None:
        folder, bin_ = self.folder / "supervisor", self.folder / "bin"
        folder.mkdir()
        bin_.mkdir()
        double = DOUBLES / "fake_supervisor.py"
        for name in NAMES:
            script = f'#!/bin/sh\nexec "{sys.executable}" -IS "{double}" {name} "$@"\n'
            (bin_ / name).write_text(script)
            (bin_ / name).chmod(0o755)
        self.environ |= {
            "PATH": f"{bin_}:/usr/bin:/bin",
            "FAKE_SUPERVISOR": str(folder),
            "FAKE_PLATFORM": platform,
            "HERMES_MODEL__SERVERS": UNSET,  # a variable of the shell would be told of
        }

    def supervisor(self, name: str, content: str = "") -> Path:
        """Change the supervisor's behaviour by a file in its folder."""
        file = self.folder / "supervisor" / name
        file.write_text(content)
        return file

    def calls(self) -> list[str]:
        """Return the supervisor's calls since the last time, without status queries."""
        file = self.folder / "supervisor" / "calls"
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        file.write_text("")
        told = [words for words in lines if not ASKING & set(words)]
        return [" ".join(words).replace(self.unit.name, "UNIT") for words in told]

    @property
    def unit(self) -> Path:
        folder = self.folder / ".config" / "systemd" / "user"
        return next(folder.glob("hermes-gateway-*.service"), folder / "none")

    @property
    def agent(self) -> Path:
        folder = self.folder / "Library" / "LaunchAgents"
        return next(folder.glob("hermes-gateway-*.plist"), folder / "none")

    def hang(self) -> Path:
        """Make gateways that start from now on drain until this file exists."""
        file = self.folder / "drained"
        self.environ["FAKE_DRAIN"] = str(file)
        return file

    def noted(self) -> RunningGateway:
        found = note(self.home)
        assert found is not None
        return found

    def until_free(self) -> None:
        self.until(lambda: not held(self.home))

    def until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def clean(self) -> None:
        """End what a test left running."""
        end_gateway(self.home)


def end_gateway(home: Path) -> None:
    found = note(home)
    if found is not None and held(home):
        with suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGKILL)
