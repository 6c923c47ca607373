"""Which supervisor this machine has, and what is asked of one."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from hermes.cli.service.launchd import Launchd
from hermes.cli.service.programs import Tick
from hermes.cli.service.systemd import Systemd
from hermes.cli.service.units import Plan, service_name


class Supervisor(Protocol):
    """Keeps one gateway alive: starts it at log-in and again when it dies.

    `file` is what makes it do so. The words that act raise ServiceFailed.
    """

    @property
    def kind(self) -> str: ...

    @property
    def file(self) -> Path: ...

    def answers(self) -> bool:
        """Can it be asked from here?"""

    def content(self, plan: Plan) -> bytes:
        """What `file` has to hold. Raises Misconfigured."""

    def engaged(self) -> bool:
        """Does it run the gateway, or mean to?"""

    def main_pid(self) -> int:
        """The process that it watches; 0 when there is none."""

    def enable(self, tick: Tick) -> None:
        """Read `file` anew and start what it says, now and at each log-in."""

    def start(self, tick: Tick) -> None: ...

    def stop(self) -> None:
        """Ask it to end the gateway, and do not wait for that."""

    def disable(self) -> None:
        """Never start it again; it has stopped, and `file` is still there."""

    def forget(self) -> None:
        """`file` is gone."""

    def renew(self) -> str:
        """The command that makes a running gateway follow a changed `file`."""

    def last_words(self) -> str:
        """What the gateway printed at last, as far as it is known."""

    def remark(self) -> str:
        """What the person still has to do for it to stay alive; empty when nothing."""


def supervisors(
    home: Path, environ: Mapping[str, str], platform: str = sys.platform
) -> list[Supervisor]:
    """Those that belong to this kind of machine, whether or not they answer."""
    own = Path(environ.get("HOME") or Path.home())
    name = service_name(home, (own / ".hermes").absolute())
    if platform == "darwin":
        return [Launchd(name=name, own=own, home=home, environ=environ, uid=os.getuid())]
    if platform.startswith("linux"):
        return [Systemd(name=name, own=own, environ=environ, uid=os.getuid())]
    return []
