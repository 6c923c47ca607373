"""A real terminal in a temporary folder; what still runs at the end of a test is ended."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch
from hermes.terminals.local import LocalTerminal
from hermes.terminals.records import folders
from hermes.terminals.register import CommandLimits

SESSION = SessionKey("agent:main:test:dm:1")
QUICK = CommandLimits(grace_s=0.4, output_bytes=1024 * 1024)


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
async def terminal(calls: Path) -> AsyncIterator[LocalTerminal]:
    opened = LocalTerminal(calls, environ=os.environ, limits=QUICK)
    yield opened
    for folder in folders(calls):
        await opened.stop(CallId(folder.path.name), "stopped")
    await opened.close()


@pytest.fixture
def launch(tmp_path: Path) -> Callable[..., CommandLaunch]:
    """A launch with everything filled in that a test does not care about."""

    def made(command: str, call: str = "turn-1", **more: object) -> CommandLaunch:
        fields = {"workdir": str(tmp_path), "session": SESSION, "timeout_s": 20.0} | more
        return CommandLaunch(id=CallId(call), command=command, **fields)  # type: ignore[arg-type]

    return made
