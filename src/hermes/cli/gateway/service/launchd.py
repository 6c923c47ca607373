"""Control launchd by its own program: the gateway is an agent of the logged-in person."""

import re
from collections.abc import Mapping
from pathlib import Path

from hermes.cli.gateway.service.background import OUTPUT, tail
from hermes.cli.gateway.service.errors import ServiceFailed
from hermes.cli.gateway.service.programs import ProgramOutput, Tick, ask
from hermes.cli.gateway.service.units import UnitPlan, property_list

LINES = 12
IN_PROGRESS, NO_PROCESS, NOT_LOADED = 36, 3, 113
_PID = re.compile(r"^\s*pid = (\d+)$", re.MULTILINE)


class Launchd:
    kind = "launchd"

    def __init__(
        self, *, name: str, own: Path, home: Path, environ: Mapping[str, str], uid: int
    ) -> None:
        self.file = own / "Library" / "LaunchAgents" / f"{name}.plist"
        self._name = name
        self._output = home / OUTPUT
        self._domain = f"gui/{uid}"
        self._target = f"{self._domain}/{name}"
        self._environ = environ

    def answers(self) -> bool:
        return self._ask("print", self._domain).status == 0

    def content(self, plan: UnitPlan) -> bytes:
        return property_list(plan, self._name, output=str(self._output))

    def engaged(self) -> bool:
        return self._ask("print", self._target).status == 0

    def main_pid(self) -> int:
        found = _PID.search(self._ask("print", self._target).out)
        return int(found[1]) if found else 0

    def enable(self, tick: Tick) -> None:
        self._do("enable", self._target)
        if not self.engaged():
            self.start(tick)

    def start(self, _tick: Tick) -> None:
        if self.engaged():
            self._do("kickstart", self._target)
        else:
            self._do("bootstrap", self._domain, str(self.file))

    def stop(self) -> None:
        self._do("bootout", self._target, fine=(IN_PROGRESS, NO_PROCESS, NOT_LOADED))

    def disable(self) -> None:
        """Do nothing: stopping has unloaded the agent."""

    def forget(self) -> None:
        """Do nothing: launchd keeps no other record."""

    def renew(self) -> str:
        return f"launchctl bootout {self._target}; launchctl bootstrap {self._domain} {self.file}"

    def last_words(self) -> str:
        return tail(self._output, LINES)

    def remark(self) -> str:
        return ""

    def _do(self, *words: str, fine: tuple[int, ...] = ()) -> None:
        said = self._ask(*words)
        if said.status != 0 and said.status not in fine:
            why = said.err or f"status {said.status}"
            raise ServiceFailed(f"launchctl {' '.join(words)}: {why}")

    def _ask(self, *words: str) -> ProgramOutput:
        return ask(["launchctl", *words], self._environ)
