"""Choose the supervisor of this machine, and the interface of one."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from hermes.cli.gateway.service.launchd import Launchd
from hermes.cli.gateway.service.programs import Tick
from hermes.cli.gateway.service.systemd import Systemd
from hermes.cli.gateway.service.units import UnitPlan, service_name


class Supervisor(Protocol):
    """Keeps one gateway alive: starts it at log-in and again when it dies.

    `file` configures that. Methods that change something raise ServiceFailed.
    """

    @property
    def kind(self) -> str: ...

    @property
    def file(self) -> Path: ...

    def answers(self) -> bool:
        """Return True if it can be reached from here."""

    def content(self, plan: UnitPlan) -> bytes:
        """Return the content of `file`. Raise Misconfigured."""

    def engaged(self) -> bool:
        """Return True if it runs the gateway, or is about to."""

    def main_pid(self) -> int:
        """Return the process that it watches; 0 when there is none."""

    def enable(self, tick: Tick) -> None:
        """Reload `file` and start the gateway, now and at each log-in."""

    def start(self, tick: Tick) -> None: ...

    def stop(self) -> None:
        """Ask it to stop the gateway, without waiting."""

    def disable(self) -> None:
        """Never start the gateway again; it has stopped, and `file` still exists."""

    def forget(self) -> None:
        """Reload after `file` was removed."""

    def renew(self) -> str:
        """Return the command that makes a running gateway follow a changed `file`."""

    def last_words(self) -> str:
        """Return the gateway's last output, if known."""

    def remark(self) -> str:
        """Return what the person still has to do so that it stays alive; empty when nothing."""


def supervisors(
    home: Path, environ: Mapping[str, str], platform: str = sys.platform
) -> list[Supervisor]:
    """Return the supervisors for this kind of machine, reachable or not."""
    own = Path(environ.get("HOME") or Path.home())
    name = service_name(home, (own / ".hermes").absolute())
    if platform == "darwin":
        return [Launchd(name=name, own=own, home=home, environ=environ, uid=os.getuid())]
    if platform.startswith("linux"):
        return [Systemd(name=name, own=own, environ=environ, uid=os.getuid())]
    return []
