"""Limits: the words for a shell, control groups where they can be made, and the launcher itself."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from hermes.ports.sandbox import Box
from hermes.terminals.program import ENTER
from hermes.terminals.sandbox.limits import Caps, Cgroups, find_cgroups, limit_words
from hermes.terminals.sandbox.seccomp import INET, TABLES, seccomp_filter

CAPS = Caps(processes=7, memory_bytes=4096, file_bytes=1024**2)


def test_every_shell_takes_the_limits() -> None:
    words = limit_words(CAPS, own_users=False)
    for shell in ("bash", "sh"):
        said = subprocess.run(
            [shell, "-c", f"{words}; ulimit -c; ulimit -n"], capture_output=True, check=True
        )
        assert said.stdout == b"0\n1024\n"
        assert said.stderr == b""
    assert "-u 7" not in words
    assert "-u 7" in limit_words(CAPS, own_users=True)


@pytest.mark.parametrize("kinds", [("pids", "memory"), ("pids",), ()])
def test_a_machine_with_no_such_groups_gets_none(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        (tmp_path / kind).mkdir()
    assert find_cgroups(CAPS, tmp_path).parents == (), "a plain folder is no control group"


@pytest.mark.skipif(os.geteuid() != 0, reason="control groups are for root to make here")
def test_res_02_a_group_is_made_for_a_call_and_removed_after_it() -> None:
    found = find_cgroups(CAPS)
    if not found.parents:
        pytest.skip("this machine lets us make no control group")
    found = Cgroups(found.parents, CAPS, young_s=0.0)
    first = found.join("call/../one")
    assert all(Path(group).parent.name == "call-..-one" for group in first)
    assert any(Path(group).with_name("pids.max").read_text() == "7\n" for group in first)
    other = Cgroups(found.parents, CAPS).join("while-it-is-launched")
    assert all(Path(group).exists() for group in first), "it is young"
    time.sleep(0.05)
    second = found.join("two")
    assert not any(Path(group).exists() for group in first)
    for group in (*second, *other):
        Path(group).parent.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="control groups are for root to make here")
def test_res_02_whoever_writes_into_the_file_of_a_group_is_in_it() -> None:
    groups = find_cgroups(Caps()).join("joined")
    box = Box(environment={}, groups=groups)
    said = subprocess.run(box.around(["cat", "/proc/self/cgroup"]), capture_output=True, check=True)
    assert said.stdout.count(b"/hermes/joined\n") == len(groups)
    for group in groups:
        Path(group).parent.rmdir()


def test_a_process_joins_by_itself_where_the_kernel_lets_it(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for parent in (old, new):
        parent.mkdir()
    (old / "tasks").touch()
    joined = Cgroups((old, new), CAPS).join("call")
    assert joined == (str(old / "call/tasks"), str(new / "call/cgroup.procs"))


def test_groups_that_a_dead_process_left_are_removed_and_one_in_use_is_kept(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    (tmp_path / "used" / "inside").mkdir(parents=True)
    groups = Cgroups((tmp_path,), CAPS, young_s=-1.0)
    for call in ("one", "two"):
        groups.join(call)
        assert {path.name for path in tmp_path.iterdir()} == {"used", call}


def test_what_is_around_a_program_limits_it_too(tmp_path: Path) -> None:
    group = tmp_path / "a group"
    box = Box(environment={}, limits="ulimit -n 77", groups=(str(group),))
    said = subprocess.run(box.around(["sh", "-c", "ulimit -n"]), capture_output=True, check=True)
    assert said.stdout == b"77\n"
    assert group.read_text() == "0\n"
    assert Box(environment={}).around(["ls"]) == ["ls"]


@pytest.mark.parametrize("steps", [["leap"], ["_serve"], ["enter", "/nowhere"], ["freeze"]])
def test_a_step_that_fails_runs_nothing(tmp_path: Path, steps: list[str]) -> None:
    ran = tmp_path / "ran"
    ended = subprocess.run(
        [*ENTER, *steps, "--", "touch", str(ran)], capture_output=True, check=False
    )
    assert ended.returncode == 125
    assert b"Nothing was run" in ended.stderr
    assert not ran.exists()


@pytest.mark.parametrize("steps", [["enter", "/"], []])
def test_a_word_of_the_command_is_no_step(steps: list[str]) -> None:
    ended = subprocess.run(
        [*ENTER, *steps, "--", "echo", "init"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "init\n")


def test_a_filter_is_whole_instructions_for_each_machine() -> None:
    for machine in TABLES:
        strict = seccomp_filter(machine, families=(), modes=False)
        loose = seccomp_filter(machine, families=(INET,), modes=True)
        assert len(strict) % 8 == len(loose) % 8 == 0
        assert len(strict) // 8 < 4096
        assert strict != loose
