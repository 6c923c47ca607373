"""RES-1, RES-2, RES-3: a command that wants everything gets its share."""

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.core.ids import CallId, SessionKey
from hermes.ports.sandbox import Sandbox
from hermes.ports.terminal import CommandLaunch, Ended
from hermes.terminals.local import LocalTerminal
from hermes.terminals.quota import DiskWatch
from hermes.terminals.register import CommandLimits
from hermes.terminals.sandbox.limits import Caps
from tests.attacks.victim import Victim, boxed, demand_working, sandbox_of

MEGA = 1024**2
SMALL = Caps(
    processes=40,
    memory_bytes=150 * MEGA,
    cpu_s=1,
    file_bytes=4 * MEGA,
    scratch_bytes=8 * MEGA,
    disk_bytes=16 * MEGA,
)
FILL = """
n=0; until [ $n = 100 ]; do n=$((n+1)); head -c 4000000 /dev/zero > f$n; sleep 0.02; done
"""
CALL = CallId(f"greedy-{os.getpid()}")


@pytest.fixture(params=["bubblewrap", "landlock"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def small(kind: str, victim: Victim) -> Sandbox:
    found = sandbox_of(kind, victim, SMALL)
    demand_working(found, victim)
    return found


@pytest.fixture
async def terminal(small: Sandbox, victim: Victim) -> AsyncIterator[LocalTerminal]:
    limits = CommandLimits(grace_s=0.4, output_bytes=MEGA)
    opened = LocalTerminal(victim.ours / "calls", environ={}, limits=limits, sandbox=small)
    yield opened
    await opened.stop(CALL, "stopped")
    await opened.close()


def launch(victim: Victim, command: str, timeout_s: float = 10.0) -> CommandLaunch:
    return CommandLaunch(
        id=CALL,
        session=SessionKey("s"),
        command=command,
        workdir=str(victim.workspace),
        timeout_s=timeout_s,
    )


def guarded(sandbox: Sandbox, name: str) -> None:
    if not any(guard.active for guard in sandbox.probe() if guard.name == name):
        pytest.skip(f"this box does not limit {name}, and says so")


def marked(mark: str) -> list[str]:
    """Return the processes of this machine with that word on their command line."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            line = (place / "cmdline").read_bytes() if place.name.isdigit() else b""
        except OSError:
            continue
        if mark.encode() in line:
            found.append(place.name)
    return found


async def test_res_02_a_fork_bomb_is_held_and_gone_with_its_command(
    terminal: LocalTerminal, small: Sandbox, victim: Victim
) -> None:
    guarded(small, "number of processes")
    guarded(small, "leftovers end")
    mark = f"bomb{os.getpid()}"
    await terminal.launch(launch(victim, f": {mark}; f(){{ f|f& }}; f; sleep 1", timeout_s=5))
    most = 0
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        most = max(most, len(marked(mark)))
    seen = await terminal.wait(CALL, 20)
    assert isinstance(seen.state, Ended)
    assert most <= SMALL.processes + 5, "its wrapper and its box stand outside"
    end = time.monotonic() + 30.0
    while marked(mark) and time.monotonic() < end:
        pass
    assert marked(mark) == []


def test_res_02_a_memory_bomb_is_killed(small: Sandbox, victim: Victim) -> None:
    began = time.monotonic()
    ended = boxed(small, victim, "head -c 400000000 /dev/zero | tail -c 300000000 | wc -c")
    assert "300000000" not in ended.text
    assert time.monotonic() - began < 60


def test_res_02_processor_time_is_limited(small: Sandbox, victim: Victim) -> None:
    began = time.monotonic()
    ended = boxed(small, victim, "while :; do :; done")
    assert ended.code != 0
    assert time.monotonic() - began < 90


def test_res_02_no_core_is_left_and_limits_stay_down(small: Sandbox, victim: Victim) -> None:
    command = "ulimit -c; ulimit -f unlimited && echo REACHED; ulimit -n 100000 && echo REACHED"
    said = boxed(small, victim, command).text
    assert said.startswith("0\n")
    assert "REACHED" not in said


def test_res_03_a_file_grows_no_further_than_its_limit(small: Sandbox, victim: Victim) -> None:
    ended = boxed(small, victim, "yes > big")
    assert ended.code != 0
    assert (victim.workspace / "big").stat().st_size <= SMALL.file_bytes


def test_res_03_scratch_space_is_limited_as_a_whole(small: Sandbox, victim: Victim) -> None:
    guarded(small, "scratch space")
    command = "for n in 1 2 3 4 5; do yes > /tmp/$n; done; du -skx /tmp | cut -f1"
    kilobytes = int(boxed(small, victim, command).text.split("\n")[-2])
    assert kilobytes * 1024 <= SMALL.scratch_bytes


async def test_res_03_a_command_that_fills_the_disk_is_stopped(
    terminal: LocalTerminal, victim: Victim
) -> None:
    await terminal.launch(launch(victim, FILL, timeout_s=30.0))
    seen = await terminal.wait(CALL, 40)
    assert seen.state == Ended(137)
    assert b"The command was stopped: it filled more than 0.0" in await terminal.read(CALL, 0, 1000)
    assert len(list(victim.workspace.glob("f*"))) < 100


async def test_res_03_the_one_file_of_ours_that_a_box_writes_to_stays_small(
    terminal: LocalTerminal, victim: Victim
) -> None:
    note = victim.ours / "calls" / CALL / "workdir"
    command = f"while :; do head -c 500000 /dev/zero >> {note}; sleep 0.05; done"
    await terminal.launch(launch(victim, command, timeout_s=30.0))
    seen = await terminal.wait(CALL, 40)
    assert seen.state == Ended(137)
    assert b"into a file of Hermes" in await terminal.read(CALL, 0, 1000)
    assert "\0" not in seen.workdir


def test_res_03_a_program_that_fills_the_disk_beside_it_stops_no_command(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    watch = DiskWatch(str(work), str(tmp_path / "note"), MEGA)
    (tmp_path / "other").write_bytes(b"x" * 8 * MEGA)
    time.sleep(watch.wait_s or 0)
    assert watch.excess() == ""
    (work / "own").write_bytes(b"x" * 8 * MEGA)
    until = time.monotonic() + 10
    while not (why := watch.excess()) and time.monotonic() < until:
        time.sleep(0.02)
    assert "GB of the disk" in why
    assert watch.excess() == "", "it is told once"


async def test_res_01_an_endless_writer_is_stopped_and_its_box_with_it(
    terminal: LocalTerminal, victim: Victim
) -> None:
    began = time.monotonic()
    await terminal.launch(launch(victim, "yes"))
    seen = await terminal.wait(CALL, 20)
    assert seen.full
    assert seen.size == MEGA
    assert time.monotonic() - began < 20


async def test_res_01_a_child_that_stays_does_not_hold_up_the_result(
    terminal: LocalTerminal, victim: Victim
) -> None:
    began = time.monotonic()
    await terminal.launch(launch(victim, "setsid sleep 20 & echo done"))
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(0)
    assert await terminal.read(CALL, 0, 100) == b"done\n"
    assert time.monotonic() - began < 15
