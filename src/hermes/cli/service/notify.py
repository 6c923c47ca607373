"""What we tell the supervisor that started us, and what we ask it: systemd's notify protocol.

Without a supervisor every word is a no-op, so nobody has to ask first whether there is one.
"""

import math
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

SEND_S, ASK_S = 0.5, 1.0
STATUS_CHARS_MAX = 200
STOP_LIMIT = "HERMES_STOP_LIMIT_S"  # a supervisor that cannot be asked says it here
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


class Notify:
    """Each word returns whether it was sent. A lost one is no reason to stop working."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ready(self, status: str = "") -> bool:
        return self._send("READY=1", _status(status))

    def reloading(self) -> bool:
        """The same process becomes a new program; the next word is `ready`."""
        return self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, status: str = "") -> bool:
        return self._send("STOPPING=1", _status(status))

    def watchdog(self) -> bool:
        return self._send("WATCHDOG=1")

    def status(self, text: str) -> bool:
        return self._send(_status(text))

    def _send(self, *lines: str) -> bool:
        text = "\n".join(line for line in lines if line)
        if not self._address or not text:
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
            wire.settimeout(SEND_S)
            try:
                wire.sendto(text.encode(), self._address)
            except OSError:
                return False
        return True


def notifier(environ: Mapping[str, str]) -> Notify:
    """Of the supervisor that NOTIFY_SOCKET names: a path, or @ and an abstract name."""
    named = environ.get("NOTIFY_SOCKET", "")
    if named.startswith("@"):
        return Notify("\0" + named[1:])
    return Notify(named if named.startswith("/") else "")


def watchdog_interval(environ: Mapping[str, str], pid: int) -> float | None:
    """Feed the watchdog twice in the time after which it bites. None: there is no watchdog."""
    limit_us = environ.get("WATCHDOG_USEC", "")
    if not limit_us.isdecimal() or int(limit_us) == 0:
        return None
    if environ.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    return int(limit_us) / 2e6


def stop_limit(environ: Mapping[str, str], pid: int, cgroup: Path = CGROUP) -> float | None:
    """Seconds between the supervisor's SIGTERM and its SIGKILL; None when nobody says.

    Asks systemd about the unit that we are the main process of. Waits at most two seconds, and
    only when systemd started us.
    """
    said = environ.get(STOP_LIMIT, "")
    if said.isdecimal():
        return float(said)
    unit = _own_unit(cgroup) if {"NOTIFY_SOCKET", "INVOCATION_ID"} & environ.keys() else ""
    if not unit:
        return None
    for manager in ("--user", "--system"):
        shown = _shown(manager, unit, environ)
        if shown.get("MainPID") == str(pid):
            return seconds_of(shown.get("TimeoutStopUSec", ""))
    return None


def seconds_of(span: str) -> float | None:
    """A time span as systemd prints it: `1min 30s`, `infinity`, or plain microseconds."""
    text = span.strip()
    if text == "infinity":
        return math.inf
    if text.isascii() and text.isdecimal():
        return math.inf if int(text) >= FOREVER_US else int(text) / 1e6
    pieces = _PIECE.findall(text)
    if not pieces or _PIECE.sub("", text) or any(name not in _SECONDS for _, name in pieces):
        return None
    return sum(float(number) * _SECONDS[name] for number, name in pieces)


def _status(text: str) -> str:
    line = " ".join(text.split())[:STATUS_CHARS_MAX]
    return f"STATUS={line}" if line else ""


def _own_unit(cgroup: Path) -> str:
    """The service whose control group we are in; empty when it is none."""
    try:
        lines = cgroup.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    ours = (line for line in lines if line.startswith("0::") or ":name=systemd:" in line)
    found = (_UNIT.search(line) for line in ours)
    return next((match[1] for match in found if match), "")


def _shown(manager: str, unit: str, environ: Mapping[str, str]) -> dict[str, str]:
    program = shutil.which("systemctl", path=environ.get("PATH", os.defpath))
    if program is None:
        return {}
    words = [program, manager, "show", "-p", "MainPID", "-p", "TimeoutStopUSec", "--", unit]
    try:
        ended = subprocess.run(
            words,
            env={**environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return {}
    pairs = (line.partition("=") for line in ended.stdout.splitlines())
    return {name: value for name, _, value in pairs}
