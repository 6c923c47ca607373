"""What the files of a call prove, at each instant at which a process may have died."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended, Lost, Pending, State
from hermes.terminals.records import TORN_S_MAX, CallFolder, Meta, folders, state_of, swept

BOOT = "this-boot"
LAUNCH = CommandLaunch(id=CallId("c"), session=SessionKey("s"), command="true", workdir="/")


class Table:
    """Processes as a test wants them."""

    def __init__(self, starts: dict[int, str], groups: set[int] | None = None) -> None:
        self.starts, self.alive = starts, groups or set()

    def boot(self) -> str:
        return BOOT

    def start(self, pid: int) -> str:
        return self.starts.get(pid, "")

    def start_in(self, noted: str) -> str:
        return noted

    def groups(self, leader: int) -> set[int]:
        return self.alive


@pytest.fixture
def folder(tmp_path: Path) -> CallFolder:
    made = CallFolder(tmp_path / "calls", CallId("c"))
    made.prepare(Meta(launch=LAUNCH, boot=BOOT, at=0.0))
    return made


def seen(folder: CallFolder, table: Table, boot: str = BOOT) -> State:
    meta = folder.meta()
    assert meta is not None
    return state_of(folder, meta, table, boot)


def begin(folder: CallFolder, text: str = "77\nstart\n.\n") -> None:
    (folder.path / "begun").write_text(text)


def test_prepared_and_not_begun_is_pending(folder: CallFolder) -> None:
    assert seen(folder, Table({})) == Pending()


def test_not_begun_proves_nothing_after_the_machine_was_restarted(folder: CallFolder) -> None:
    assert seen(folder, Table({}), boot="another") == Lost()


def test_alive_means_same_pid_and_same_start(folder: CallFolder) -> None:
    begin(folder)
    assert seen(folder, Table({77: "start"})) == CommandRunning()
    assert seen(folder, Table({77: "later"})) == Lost(), "the pid belongs to somebody else now"
    assert seen(folder, Table({77: "start"}), boot="another") == Lost()


def test_a_command_whose_wrapper_was_killed_alone_is_still_running(folder: CallFolder) -> None:
    begin(folder)
    assert seen(folder, Table({}, {77})) == CommandRunning()
    assert seen(folder, Table({}, set())) == Lost()


def test_a_status_is_final_whatever_else_is_there(folder: CallFolder) -> None:
    begin(folder)
    (folder.path / "status").write_text("3\n")
    assert seen(folder, Table({77: "start"})) == Ended(3)
    assert seen(folder, Table({}), boot="another") == Ended(3)


def test_an_empty_status_is_none(folder: CallFolder) -> None:
    begin(folder)
    (folder.path / "status").write_text("")
    assert seen(folder, Table({})) == Lost()


def test_what_we_killed_is_known_to_be_over(folder: CallFolder) -> None:
    begin(folder)
    folder.note_cut("timeout")
    assert seen(folder, Table({77: "start"})) == CommandRunning(), "noted, not yet done"
    assert seen(folder, Table({})) == Ended(None, "timeout")
    folder.note_cut("stopped")
    assert folder.cut() == "timeout", "the first reason stays"


def test_a_gate_without_its_end_mark_is_waited_for_and_then_lost(folder: CallFolder) -> None:
    begin(folder, "77\nsta")
    assert seen(folder, Table({77: "sta"})) == CommandRunning()
    past = folder.began_at() - TORN_S_MAX - 1
    os.utime(folder.path / "begun", (past, past))
    assert seen(folder, Table({77: "sta"})) == Lost()


def test_exactly_one_of_many_gets_the_gate(folder: CallFolder) -> None:
    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(lambda _: folder.bar("stopped"), range(64)))
    assert won.count(True) == 1
    assert seen(folder, Table({})) == Ended(None, "stopped")


def test_a_gate_that_a_wrapper_has_cannot_be_barred(folder: CallFolder) -> None:
    begin(folder)
    assert not folder.bar("stopped")
    assert seen(folder, Table({77: "start"})) == CommandRunning()


def test_a_broken_meta_file_means_that_nothing_is_known(folder: CallFolder) -> None:
    (folder.path / "meta").write_bytes(b"\x00\x00\x00")
    assert folder.meta() is None


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "a/b", ".hidden", "a\x00b", "x" * 200, "ä", "a\n"]
)
def test_an_id_cannot_name_another_place(tmp_path: Path, name: str) -> None:
    with pytest.raises(ToolFailed):
        CallFolder(tmp_path, CallId(name))


def test_everything_is_for_us_alone(folder: CallFolder) -> None:
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert folder.path.parent.stat().st_mode & 0o777 == 0o700
    for file in folder.path.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


def test_removing_takes_all_facts_away_at_once(folder: CallFolder) -> None:
    begin(folder)
    folder.remove()
    assert not folder.path.exists()
    assert list(folder.path.parent.iterdir()) == []
    folder.remove()


def aged(calls: Path, name: str, age_s: float, size: int = 0) -> CallFolder:
    made = CallFolder(calls, CallId(name))
    made.prepare(Meta(launch=LAUNCH, boot=BOOT, at=0.0))
    made.output.write_bytes(b"x" * size)
    then = made.path.stat().st_mtime - age_s
    os.utime(made.path, (then, then))
    return made


def test_sweeping_takes_the_old_and_then_the_oldest_of_too_much(tmp_path: Path) -> None:
    aged(tmp_path, "ancient", 900_000)
    aged(tmp_path, "big-old", 20_000, size=600)
    aged(tmp_path, "big-new", 10_000, size=600)
    aged(tmp_path, "fresh", 1, size=600)
    (tmp_path / ".gone-half").mkdir()
    assert swept(tmp_path, lambda _: True, keep_s=800_000, keep_bytes=1_300) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["big-new", "fresh"]


def test_res_03_of_far_too_much_only_the_freshest_stays(tmp_path: Path) -> None:
    aged(tmp_path, "young", 600, size=1_000)
    aged(tmp_path, "younger", 400, size=1_000)
    aged(tmp_path, "fresh", 1, size=1_000)
    assert swept(tmp_path, lambda _: True, keep_s=800_000, keep_bytes=1_000) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fresh", "younger"]


def test_sweeping_leaves_what_runs_and_what_is_fresh(tmp_path: Path) -> None:
    aged(tmp_path, "ancient", 900_000)
    aged(tmp_path, "fresh", 1, size=600)
    assert swept(tmp_path, lambda f: f.path.name != "ancient", keep_s=1_000, keep_bytes=0) == 0
    assert [folder.path.name for folder in folders(tmp_path)] == ["ancient", "fresh"]
