"""What somebody who waits for a command is told, from its files and the processes that live."""

import os
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.terminals.alive import LinuxProcesses
from hermes.terminals.records import Folder, Meta
from hermes.terminals.register import Limits, Register
from hermes.views.terminal import Ended, Launch, Pending, Running

LAUNCH = Launch(id=CallId("c"), session=SessionKey("s"), command="true", workdir="/")


@pytest.fixture
def register(tmp_path: Path) -> Register:
    return Register(tmp_path / "calls", LinuxProcesses(), Limits(), lambda _folder, _place: True)


@pytest.fixture
def folder(register: Register) -> Folder:
    made = register.folder(LAUNCH.id)
    made.prepare(Meta(launch=LAUNCH, boot=register.boot, at=0.0))
    return made


def begin(folder: Folder, pid: int) -> None:
    stat = Path(f"/proc/{pid}/stat").read_text().strip()
    (folder.path / "begun").write_text(f"{pid}\n{stat}\n.\n")


def test_who_waits_for_a_running_command_is_told_whom_to_wait_for(
    register: Register, folder: Folder
) -> None:
    met = register.meet(folder)
    assert (met.seen.state, met.wrapper, met.whole) == (Pending(), None, False)
    begin(folder, os.getpid())
    met = register.meet(folder)
    assert (met.seen.state, met.wrapper, met.whole) == (Running(), os.getpid(), False)


@pytest.mark.parametrize(("status", "whole"), [("0\n", False), ("0\n.\n", True)])
def test_output_is_whole_when_its_end_was_seen(
    register: Register, folder: Folder, status: str, *, whole: bool
) -> None:
    begin(folder, os.getpid())
    (folder.path / "output").write_text("said")
    (folder.path / "status").write_text(status)
    met = register.meet(folder)
    assert (met.seen.state, met.seen.size) == (Ended(0), 4)
    assert (met.wrapper, met.whole) == (None, whole)
    (folder.path / "drained").touch()
    assert register.meet(folder).whole


def test_nobody_waits_for_a_command_that_is_not_there(register: Register) -> None:
    with pytest.raises(ToolFailed, match="There is no command"):
        register.meet(register.folder(CallId("other")))
