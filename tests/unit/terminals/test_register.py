"""What somebody who waits for a command is told, from its files and the processes that live."""

import os
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended, Pending
from hermes.terminals.alive import LinuxProcesses
from hermes.terminals.records import CallFolder, Meta
from hermes.terminals.register import SWEEP_EVERY, CallRegister, CommandLimits

LAUNCH = CommandLaunch(id=CallId("c"), session=SessionKey("s"), command="true", workdir="/")


@pytest.fixture
def register(tmp_path: Path) -> CallRegister:
    return CallRegister(
        tmp_path / "calls", LinuxProcesses(), CommandLimits(), lambda _folder, _place: True
    )


@pytest.fixture
def folder(register: CallRegister) -> CallFolder:
    made = register.folder(LAUNCH.id)
    made.prepare(Meta(launch=LAUNCH, boot=register.boot, at=0.0))
    return made


def begin(folder: CallFolder, pid: int) -> None:
    stat = Path(f"/proc/{pid}/stat").read_text().strip()
    (folder.path / "begun").write_text(f"{pid}\n{stat}\n.\n")


def test_who_waits_for_a_running_command_is_told_whom_to_wait_for(
    register: CallRegister, folder: CallFolder
) -> None:
    met = register.meet(folder)
    assert (met.seen.state, met.wrapper, met.whole) == (Pending(), None, False)
    begin(folder, os.getpid())
    met = register.meet(folder)
    assert (met.seen.state, met.wrapper, met.whole) == (CommandRunning(), os.getpid(), False)


@pytest.mark.parametrize(("status", "whole"), [("0\n", False), ("0\n.\n", True)])
def test_output_is_whole_when_its_end_was_seen(
    register: CallRegister, folder: CallFolder, status: str, *, whole: bool
) -> None:
    begin(folder, os.getpid())
    (folder.path / "output").write_text("said")
    (folder.path / "status").write_text(status)
    met = register.meet(folder)
    assert (met.seen.state, met.seen.size) == (Ended(0), 4)
    assert (met.wrapper, met.whole) == (None, whole)
    (folder.path / "drained").touch()
    assert register.meet(folder).whole


def test_nobody_waits_for_a_command_that_is_not_there(register: CallRegister) -> None:
    with pytest.raises(ToolFailed, match="There is no command"):
        register.meet(register.folder(CallId("other")))


def test_res_03_outputs_are_cut_short_while_too_much_is_kept(tmp_path: Path) -> None:
    limits = CommandLimits(keep_bytes=1_000, output_bytes=500, crowded_output_bytes=10)
    register = CallRegister(tmp_path, LinuxProcesses(), limits, lambda _folder, _place: True)
    assert register.output_bytes() == 500
    for number in range(SWEEP_EVERY):
        folder = register.folder(CallId(f"c{number}"))
        register.make_room()
        folder.prepare(Meta(launch=LAUNCH, boot=register.boot, at=0.0))
        folder.output.write_bytes(b"x" * 100)
    assert register.output_bytes() == 10, "all are too fresh to go"
    for entry in tmp_path.iterdir():
        os.utime(entry, (1.0, 1.0))
    for _ in range(SWEEP_EVERY):
        register.make_room()
    assert register.output_bytes() == 500
    assert list(tmp_path.iterdir()) == []
