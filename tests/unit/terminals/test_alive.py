"""A pid alone proves nothing."""

import os
import shutil
import subprocess
import sys

import pytest

from hermes.terminals.alive import LinuxProcesses, PsProcesses, parse_stat, processes

linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")


def ask(arguments: list[str]) -> str:
    return subprocess.run(arguments, capture_output=True, text=True, check=False).stdout


def test_a_program_name_with_spaces_and_parentheses_does_not_shift_the_fields() -> None:
    numbers = " ".join(str(n) for n in range(4, 53))
    stat = parse_stat(f"77 (a) R (b c) S 1 {numbers}")
    assert stat is not None
    assert (stat.state, stat.group, stat.session, stat.start) == ("S", 4, 5, "21")
    assert parse_stat("77 (cut") is None


@linux
def test_a_living_process_has_a_start_and_a_dead_one_none() -> None:
    child = subprocess.Popen(["sleep", "5"], start_new_session=True)
    table = LinuxProcesses()
    assert table.start(child.pid)
    assert table.groups(child.pid) == {child.pid}
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert table.start(child.pid) == "", "a zombie is dead"
    assert table.groups(child.pid) == set()
    child.wait()
    assert table.start(child.pid) == ""


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_ps_tells_the_same_where_there_is_no_proc() -> None:
    child = subprocess.Popen(["sleep", "5"], start_new_session=True)
    table = PsProcesses(ask)
    assert table.start(child.pid) == table.start_in(
        ask(["ps", "-o", "lstart=", "-p", str(child.pid)])
    )
    assert table.start(child.pid) != ""
    assert table.groups(child.pid) == {child.pid}
    child.kill()
    child.wait()
    assert table.start(child.pid) == ""
    assert table.groups(child.pid) == set()


def test_the_boot_has_a_name_that_stays() -> None:
    assert processes(ask).boot() == processes(ask).boot() != ""
