"""Control systemd's user manager by its own program."""

from collections.abc import Mapping
from pathlib import Path

from hermes.cli.gateway.service.errors import ServiceFailed
from hermes.cli.gateway.service.programs import ProgramOutput, Tick, ask
from hermes.cli.gateway.service.units import START_S, STOP_SLACK_S, UnitPlan, unit_text

LINES = 12
RUNTIME = Path("/run/user")


class Systemd:
    kind = "systemd"

    def __init__(self, *, name: str, own: Path, environ: Mapping[str, str], uid: int) -> None:
        self.unit = f"{name}.service"
        folder = Path(environ.get("XDG_CONFIG_HOME") or own / ".config")
        self.file = folder / "systemd" / "user" / self.unit
        self._uid = uid
        self._environ = _reachable(environ, uid)

    def answers(self) -> bool:
        return self._ask("show-environment").status == 0

    def content(self, plan: UnitPlan) -> bytes:
        return unit_text(plan).encode()

    def engaged(self) -> bool:
        return self._show("ActiveState") not in ("", "inactive", "failed")

    def main_pid(self) -> int:
        pid = self._show("MainPID")
        return int(pid) if pid.isdecimal() else 0

    def enable(self, tick: Tick) -> None:
        self._do("daemon-reload")
        self._do("enable", self.unit)
        self.start(tick)

    def start(self, tick: Tick) -> None:
        self._do("start", self.unit, limit_s=START_S + STOP_SLACK_S, tick=tick)

    def stop(self) -> None:
        self._do("stop", "--no-block", self.unit)

    def disable(self) -> None:
        self._do("disable", self.unit)

    def forget(self) -> None:
        self._do("daemon-reload")
        self._ask("reset-failed", self.unit)  # nothing to do when it had not failed

    def renew(self) -> str:
        return f"systemctl --user restart {self.unit}"

    def last_words(self) -> str:
        words = ("--user", "--unit", self.unit, "--lines", str(LINES), "--output", "cat")
        return ask(["journalctl", *words, "--no-pager", "--quiet"], self._environ).out

    def remark(self) -> str:
        words = ("show-user", str(self._uid), "--property=Linger", "--value")
        if ask(["loginctl", *words], self._environ).out.strip() == "yes":
            return ""
        return "It ends when you log out. To keep it then, and to start it with the machine: " + (
            "loginctl enable-linger"
        )

    def _show(self, name: str) -> str:
        return self._ask("show", f"--property={name}", "--value", self.unit).out.strip()

    def _do(self, *words: str, limit_s: float = START_S, tick: Tick = lambda _waited: None) -> None:
        said = self._ask(*words, limit_s=limit_s, tick=tick)
        if said.status != 0:
            why = said.err.partition("\n")[0].rstrip(".") or f"status {said.status}"
            more = f"See: journalctl --user --unit {self.unit}"
            raise ServiceFailed(f"systemctl --user {' '.join(words)}: {why}. {more}")

    def _ask(
        self, *words: str, limit_s: float = 5.0, tick: Tick = lambda _waited: None
    ) -> ProgramOutput:
        return ask(["systemctl", "--user", *words], self._environ, limit_s=limit_s, tick=tick)


def _reachable(environ: Mapping[str, str], uid: int) -> dict[str, str]:
    """Return the environment with the manager's address, which is missing after `su`."""
    found = {**environ, "LC_ALL": "C"}
    folder = RUNTIME / str(uid)
    if not environ.get("XDG_RUNTIME_DIR") and folder.is_dir():
        found["XDG_RUNTIME_DIR"] = str(folder)
    return found
