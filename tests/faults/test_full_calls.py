"""Commands on a full disk: one that cannot begin says why, one that loses output says so."""

import os
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch, Ended
from hermes.terminals.local import LocalTerminal
from tests.faults.test_disk import mounted

KEPT = 200_000


def launch(folder: Path, command: str) -> CommandLaunch:
    return CommandLaunch(
        id=CallId("turn-1"),
        session=SessionKey("local:main"),
        command=command,
        workdir=str(folder),
        timeout_s=30.0,
        background=False,
    )


def fill(disk: Path, room: int) -> None:
    """Leave so many bytes free."""
    about = os.statvfs(disk)
    with (disk / "filler").open("wb", buffering=0) as file:
        left = about.f_bavail * about.f_frsize - room
        while left > 0:
            left -= file.write(bytes(min(left, 65_536)))


async def test_a_command_that_cannot_begin_says_that_the_disk_is_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted(disk, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        fill(disk, 0)
        terminal = LocalTerminal(disk / "calls", environ=os.environ)
        try:
            with pytest.raises(ToolFailed, match="could not be started: the disk is full"):
                await terminal.launch(launch(tmp_path, "echo hello"))
        finally:
            await terminal.close()


async def test_output_that_finds_no_room_ends_with_a_word_about_it(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted(disk, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        fill(disk, KEPT)
        terminal = LocalTerminal(disk / "calls", environ=os.environ)
        try:
            begun = launch(tmp_path, "yes 0123456789 | head -c 900000")
            await terminal.launch(begun)
            seen = await terminal.wait(begun.id, 30)
            said = (await terminal.read(begun.id, 0, 1_000_000)).decode()
        finally:
            await terminal.close()
    assert said.startswith("0123456789\n")
    assert said.endswith("[The disk is full: the rest of the output is lost.]\n")
    assert isinstance(seen.state, Ended), "its end is known all the same"
