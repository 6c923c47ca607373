"""Who runs: the lock decides, whatever an old note says."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.gateway.service.lock import (
    LOCK,
    RunningGateway,
    alive,
    held,
    note,
    owners,
    parse_note,
    running,
    write_note,
)
from hermes.core.errors import StoreBusy

SRC = Path(__file__).parents[5] / "src"
GATEWAY = Path(__file__).parents[4] / "doubles" / "fake_gateway.py"
HOLDER = """
import fcntl, os, sys, time
file = open(sys.argv[1], "r+b")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(float(sys.argv[2]))
if len(sys.argv) > 3:
    os.truncate(sys.argv[1], 0)
    file.write(b'{"pid": %d, "started_at": 5.0, "argv": []}' % os.getpid())
    file.flush()
time.sleep(60)
"""
LOCKS = """\
1: FLOCK  ADVISORY  WRITE 42 fd:01:1234 0 EOF
1: -> FLOCK  ADVISORY  WRITE 43 fd:01:1234 0 EOF
2: FLOCK  ADVISORY  READ 44 fd:01:1234 0 EOF
3: POSIX  ADVISORY  WRITE 45 00:2b:1234 0 EOF
4: FLOCK  ADVISORY  WRITE 0 fd:01:1235 0 EOF
5: FLOCK  ADVISORY  WRITE 46 fd:01:11234 0 EOF
garbage
"""

Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Starts a Python process; all of them are ended afterwards."""
    begun: list[subprocess.Popen[str]] = []

    def start(*words: str, **environ: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-I", *words]
        child = subprocess.Popen(
            command, env={**os.environ, **environ}, stdout=subprocess.PIPE, text=True
        )
        begun.append(child)
        return child

    yield start
    for child in begun:
        child.kill()
        child.communicate()


def holder(begin: Begin, home: Path, content: str, *more: str) -> "subprocess.Popen[str]":
    """A process that holds the lock, whatever the file says."""
    (home / LOCK).write_text(content)
    child = begin("-c", HOLDER, str(home / LOCK), *(more or ("0",)))
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def until(home: Path) -> RunningGateway:
    deadline = time.monotonic() + 10
    while (who := running(home)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return who


def test_a_home_without_a_gateway_has_none_running(tmp_path: Path) -> None:
    assert running(tmp_path) is None
    assert running(tmp_path / "nowhere") is None
    assert not (tmp_path / LOCK).exists()
    (tmp_path / "file").touch()
    assert running(tmp_path / "file") is None


def test_a_running_gateway_is_named(tmp_path: Path, begin: Begin) -> None:
    began = time.time()
    child = begin(str(GATEWAY), HERMES_HOME=str(tmp_path))
    who = until(tmp_path)
    assert who.pid == child.pid
    assert began <= who.started_at <= time.time()
    assert held(tmp_path)
    child.send_signal(signal.SIGTERM)
    assert child.wait(10) == 0
    assert running(tmp_path) is None
    assert note(tmp_path) == who  # it leaves its note, and the note says nothing


def test_the_note_of_a_killed_gateway_counts_for_nothing(tmp_path: Path, begin: Begin) -> None:
    child = begin(str(GATEWAY), HERMES_HOME=str(tmp_path))
    until(tmp_path)
    child.kill()
    child.wait()
    assert running(tmp_path) is None


def test_the_note_of_a_living_stranger_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(json.dumps({"pid": os.getpid(), "started_at": 1.0, "argv": []}))
    assert running(tmp_path) is None


def test_a_lock_taken_just_now_is_named_when_its_note_comes(tmp_path: Path, begin: Begin) -> None:
    stale = json.dumps({"pid": 2**22 + 1, "started_at": 1.0, "argv": []})
    child = holder(begin, tmp_path, stale, "0.2", "then writes")
    assert running(tmp_path) == RunningGateway(pid=child.pid, started_at=5.0)


def test_a_lock_that_nobody_signed_is_busy(tmp_path: Path, begin: Begin) -> None:
    holder(begin, tmp_path, '{"pid": -1, "started_at": 1.0}')
    with pytest.raises(StoreBusy, match=LOCK):
        running(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a lock")
def test_a_pid_that_was_reused_is_not_taken_for_the_holder(tmp_path: Path, begin: Begin) -> None:
    """The note's process lives, but it is not the one that holds the lock."""
    holder(begin, tmp_path, json.dumps({"pid": os.getpid(), "started_at": 1.0, "argv": []}))
    with pytest.raises(StoreBusy):
        running(tmp_path)


def test_lookers_do_not_see_one_another(tmp_path: Path, begin: Begin) -> None:
    (tmp_path / LOCK).touch()
    look = (
        "import fcntl,sys,time; f=open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_SH); print('held')"
    )
    child = begin("-c", look + "; sys.stdout.flush(); time.sleep(60)", str(tmp_path / LOCK))
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    assert not held(tmp_path)


def test_only_those_who_hold_the_file_are_owners() -> None:
    assert owners(LOCKS, 1234) == {42, 45}
    assert owners(LOCKS, 1235) == {0}
    assert owners(LOCKS, 9) == set()


@pytest.mark.parametrize("content", ["", '{"pid": 1', '{"pid": 0, "started_at": 1}', "[]", "5"])
def test_half_a_note_is_none(content: str) -> None:
    assert parse_note(content.encode()) is None


@given(st.binary(max_size=60))
def test_no_content_breaks_the_reading_of_a_note(content: bytes) -> None:
    noted = parse_note(content)
    assert noted is None or noted.pid > 0


def test_alive_means_there_is_such_a_process(begin: Begin) -> None:
    child = begin("-c", "pass")
    assert child.stdout is not None
    child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    if sys.platform == "linux":
        assert not alive(child.pid)
    child.wait()
    assert not alive(child.pid)
    assert alive(os.getpid())
    assert alive(1)


WRITER = """
import os, sys
sys.path.insert(0, sys.argv[2])
from hermes.cli.gateway.service.lock import write_note
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
number = 0
write_note(handle, {"pid": os.getpid(), "started_at": 0.0, "argv": []})
print("written", flush=True)
while True:
    number += 1
    write_note(handle, {"pid": os.getpid(), "started_at": 0.5, "argv": ["x"] * (number % 30)})
"""


def test_a_note_is_never_missing_while_it_is_written_again(tmp_path: Path, begin: Begin) -> None:
    child = begin("-c", WRITER, str(tmp_path / LOCK), str(SRC))
    assert child.stdout is not None
    assert child.stdout.readline() == "written\n"
    pids = {found.pid if (found := note(tmp_path)) else None for _ in range(3_000)}
    assert pids == {child.pid}


def test_a_note_over_something_long_and_strange_is_read(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_bytes(b"x" * 1_000_000)
    handle = os.open(tmp_path / LOCK, os.O_RDWR)
    write_note(handle, {"pid": 7, "started_at": 1.0})
    os.close(handle)
    assert note(tmp_path) == RunningGateway(pid=7, started_at=1.0)
