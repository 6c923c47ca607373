"""Report to the supervisor by systemd's notify protocol.

Without a supervisor every message is a no-op, so callers need not check for one.
"""

import socket
import time
from collections.abc import Mapping

SEND_S = 0.5
STATUS_CHARS_MAX = 200
STOP_LIMIT = "HERMES_STOP_LIMIT_S"  # a supervisor that cannot be asked says it here


class Notify:
    """The messages. Each returns whether it was sent; a lost one is not an error."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ready(self, status: str = "") -> bool:
        return self._send("READY=1", _status(status))

    def reloading(self) -> bool:
        """Report that the same process becomes a new program; the next message is `ready`."""
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
    """Return the notifier for NOTIFY_SOCKET: a path, or @ and an abstract name."""
    named = environ.get("NOTIFY_SOCKET", "")
    if named.startswith("@"):
        return Notify("\0" + named[1:])
    return Notify(named if named.startswith("/") else "")


def watchdog_interval(environ: Mapping[str, str], pid: int) -> float | None:
    """Return half of the watchdog's time-out, the interval to feed it; None without a watchdog."""
    limit_us = environ.get("WATCHDOG_USEC", "")
    if not limit_us.isdecimal() or int(limit_us) == 0:
        return None
    if environ.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    return int(limit_us) / 2e6


def supervised(environ: Mapping[str, str]) -> bool:
    """Return True if a supervisor may know the time between SIGTERM and SIGKILL. See limit.py."""
    return not environ.keys().isdisjoint(("NOTIFY_SOCKET", "INVOCATION_ID", STOP_LIMIT))


def _status(text: str) -> str:
    line = " ".join(text.split())[:STATUS_CHARS_MAX]
    return f"STATUS={line}" if line else ""
