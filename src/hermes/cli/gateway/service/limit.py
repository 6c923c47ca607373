"""Ask systemd how long it waits between SIGTERM and SIGKILL.

It is loaded only where there may be a supervisor, so that a gateway without one does not pay for
it.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path

from hermes.cli.gateway.service.notify import STOP_LIMIT
from hermes.cli.gateway.service.programs import ask

ASK_S = 1.0
CGROUP = Path("/proc/self/cgroup")
FOREVER_US = 2**64 - 1
_SECONDS = {
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 7 * 86400.0,
    "month": 30.44 * 86400.0,
    "y": 365.25 * 86400.0,
}
_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*")
_UNIT = re.compile(r"/([^/]+\.service)$")


def stop_limit(environ: Mapping[str, str], pid: int, cgroup: Path = CGROUP) -> float | None:
    """Return the seconds between the supervisor's SIGTERM and its SIGKILL; None when that is
    unknown.

    It asks systemd about the unit whose main process this is. It waits at most two seconds, and
    only when systemd started this process.
    """
    said = environ.get(STOP_LIMIT, "")
    if said.isdecimal():
        return float(said)
    unit = _own_unit(cgroup) if {"NOTIFY_SOCKET", "INVOCATION_ID"} & environ.keys() else ""
    if not unit:
        return None
    for manager in ("--user", "--system"):
        shown = _show(manager, unit, environ)
        if shown.get("MainPID") == str(pid):
            return seconds_of(shown.get("TimeoutStopUSec", ""))
    return None


def seconds_of(span: str) -> float | None:
    """Parse a time span as systemd prints it: `1min 30s`, `infinity`, or plain microseconds."""
    text = span.strip()
    if text == "infinity":
        return math.inf
    if text.isascii() and text.isdecimal():
        return math.inf if int(text) >= FOREVER_US else int(text) / 1e6
    pieces = _PIECE.findall(text)
    if not pieces or _PIECE.sub("", text) or any(name not in _SECONDS for _, name in pieces):
        return None
    return sum(float(number) * _SECONDS[name] for number, name in pieces)


def _own_unit(cgroup: Path) -> str:
    """Return the service whose control group this process is in; empty when there is none."""
    try:
        lines = cgroup.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    ours = (line for line in lines if line.startswith("0::") or ":name=systemd:" in line)
    found = (_UNIT.search(line) for line in ours)
    return next((match[1] for match in found if match), "")


def _show(manager: str, unit: str, environ: Mapping[str, str]) -> dict[str, str]:
    words = ["systemctl", manager, "show", "-p", "MainPID", "-p", "TimeoutStopUSec", "--", unit]
    try:
        said = ask(words, {**environ, "LC_ALL": "C"}, limit_s=ASK_S)
    except OSError:
        return {}
    pairs = (line.partition("=") for line in said.out.splitlines())
    return {name: value for name, _, value in pairs}
