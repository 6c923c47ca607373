"""The files that configure a supervisor: a systemd unit, a launchd property list.

Pure: texts made of values. The supervisor waits longer than the drain takes, and it kills one
process, never the commands that run detached from it.
"""

import hashlib
import math
import plistlib
import re
from dataclasses import dataclass
from pathlib import Path

from hermes.core.errors import Misconfigured

NAME = "hermes-gateway"
STOP_SLACK_S = 30
START_S, WATCHDOG_S, RESTART_S = 90, 30, 2
CONFIGURATION = 78  # a wrong setting does not get better by trying again
SLUG_CHARS_MAX = 20


@dataclass(frozen=True, kw_only=True)
class UnitPlan:
    """What a supervisor has to know of the gateway."""

    command: tuple[str, ...]
    home: str
    path: str  # where commands are looked for; empty: where the supervisor looks
    drain_s: float

    @property
    def stop_s(self) -> int:
        return math.ceil(self.drain_s) + STOP_SLACK_S


def service_name(home: Path, default: Path) -> str:
    """Return the service name of a home: short for the default home, with a digest for others."""
    if home == default:
        return NAME
    slug = re.sub(r"[^a-z0-9]+", "-", home.name.lower())[:SLUG_CHARS_MAX].strip("-")
    mark = hashlib.sha256(str(home).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return "-".join(part for part in (NAME, slug, mark) if part)


def unit_text(plan: UnitPlan) -> str:
    """Return a unit for systemd's user manager. Raise Misconfigured for a path that no unit can
    contain."""
    _check(plan)
    if re.search(r"""["'\\]""", plan.command[0]):  # systemd refuses those in a program's name
        problem = f"{plan.command[0]} has a quote or a backslash, which systemd refuses"
        raise Misconfigured("the program's path", problem, "Choose another place")
    lines = [
        "# Made by `hermes gateway install`, which replaces it. Put your changes into a drop-in:",
        "# systemctl --user edit",
        "[Unit]",
        "Description=Hermes gateway",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=main",
        f"ExecStart={_command(plan.command)}",
        f"WorkingDirectory={_literal(plan.home)}",
        f"Environment={_word(f'HERMES_HOME={plan.home}')}",
        *([f"Environment={_word(f'PATH={plan.path}')}"] if plan.path else []),
        "KillMode=process",
        "KillSignal=SIGTERM",
        "OOMPolicy=continue",
        f"TimeoutStartSec={START_S}",
        f"TimeoutStopSec={plan.stop_s}",
        f"WatchdogSec={WATCHDOG_S}",
        "Restart=always",
        f"RestartSec={RESTART_S}",
        f"RestartPreventExitStatus={CONFIGURATION}",
        "StandardOutput=journal",
        "StandardError=journal",
        "SyslogIdentifier=hermes-gateway",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def property_list(plan: UnitPlan, label: str, *, output: str) -> bytes:
    """Return a launchd agent. Launchd's time limit cannot be queried, so it is passed to the
    gateway."""
    _check(plan)
    environment = {"HERMES_HOME": plan.home, "HERMES_STOP_LIMIT_S": str(plan.stop_s)}
    if plan.path:
        environment["PATH"] = plan.path
    return plistlib.dumps(
        {
            "Label": label,
            "ProgramArguments": list(plan.command),
            "WorkingDirectory": plan.home,
            "EnvironmentVariables": environment,
            "RunAtLoad": True,
            "KeepAlive": True,
            "ExitTimeOut": plan.stop_s,
            "AbandonProcessGroup": True,
            "ProcessType": "Standard",
            "StandardOutPath": output,
            "StandardErrorPath": output,
        }
    )


def _check(plan: UnitPlan) -> None:
    for key, text in (("HERMES_HOME", plan.home), ("PATH", plan.path), *_named(plan.command)):
        if not text.isprintable():
            problem = f"{text!r} has a character that a service file cannot hold"
            raise Misconfigured(key, problem, "Choose another place")
    if plan.home != plan.home.strip() or plan.home.endswith("\\"):
        problem = f"{plan.home!r} ends in a way that a service file cannot hold"
        raise Misconfigured("HERMES_HOME", problem, "Choose another place")


def _named(command: tuple[str, ...]) -> list[tuple[str, str]]:
    return [("the program's path", word) for word in command]


def _command(command: tuple[str, ...]) -> str:
    """Return the command line. The colon before the program turns off systemd's variable
    expansion."""
    plain = "" if not any("$" in word for word in command) else ":"
    return " ".join(_word(word) for word in (plain + command[0], *command[1:]))


def _word(text: str) -> str:
    """Quote one word of a unit, so that systemd reads back exactly this text."""
    if re.fullmatch(r"[\w./:=@+,-]+", text, re.ASCII):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_literal(escaped)}"'


def _literal(text: str) -> str:
    """Escape systemd's % specifiers."""
    return text.replace("%", "%%")
