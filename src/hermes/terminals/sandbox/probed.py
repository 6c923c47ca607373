"""Probe for a sandbox when the first command needs one, so that start-up does not wait.

A probe runs real programs, so it runs in the thread that starts a command, never on the event loop.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from hermes.ports.sandbox import Box, BoxRequest, Guard, Sandbox
from hermes.terminals.sandbox.choice import (
    NO_GRANT,
    Machinery,
    Refusing,
    SandboxGrant,
    find_sandbox,
)
from hermes.terminals.sandbox.places import outlasts


class ProbedSandbox:
    """Implement the Sandbox port lazily. A found sandbox is kept; a machine without one is probed
    again, so that bubblewrap can be installed while the gateway runs."""

    def __init__(
        self,
        setting: Literal["auto", "none"],
        *,
        workspace: Path,
        home: Path,
        environ: Mapping[str, str],
        grant: SandboxGrant = NO_GRANT,
        machinery: Machinery | None = None,
    ) -> None:
        self._setting = setting
        self._workspace = workspace
        self._home = home
        self._environ = environ
        self._grant = grant
        self._machinery = machinery
        self._found: Sandbox | None = None
        self._looking = threading.Lock()

    def box(self, wish: BoxRequest, /) -> Box:
        return self._here().box(wish)

    def keeps(self, folder: str, workspace: str, /) -> bool:
        chosen = self._workspace if self._grant.settled or not workspace else Path(workspace)
        return self._setting == "none" or outlasts(folder, chosen.resolve())

    def probe(self) -> tuple[Guard, ...]:
        return self._here().probe()

    def _here(self) -> Sandbox:
        with self._looking:
            if self._found is not None:
                return self._found
            found = find_sandbox(
                self._setting,
                workspace=self._workspace,
                home=self._home,
                environ=self._environ,
                grant=self._grant,
                machinery=self._machinery,
            )
            self._found = None if isinstance(found, Refusing) else found
            return found
