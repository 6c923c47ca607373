"""C24 with real kills: of the gateway around every write, and of the wrapper at every line."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes.core.ids import CallId
from hermes.terminals.local import LocalTerminal
from hermes.terminals.records import Folder
from hermes.terminals.register import Limits
from hermes.terminals.wrapper import WRAPPER
from hermes.views.terminal import Ended, Launch, Lost, Running

ROOT = Path(__file__).parents[3]
CALL = CallId("turn-1")
Made = Callable[..., Launch]
Life = Callable[..., int]
SOAK = os.environ.get("HERMES_SOAK") == "1"


@pytest.fixture(scope="module")
def nursery() -> Iterator["subprocess.Popen[str]"]:
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", "tests.unit.terminals.nursery"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as server:
        yield server
        assert server.stdin is not None
        server.stdin.close()
        server.wait(10)


@pytest.fixture
def life(nursery: "subprocess.Popen[str]", tmp_path: Path) -> Life:
    """One life in a home of its own; returns its exit code (-9: killed)."""

    def lived(home: str, kind: str, command: str, at: int = 0, **more: object) -> int:
        order = {
            "home": str(tmp_path / home),
            "life": kind,
            "at": at,
            "arguments": json.dumps({"command": command, **more}),
        }
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        nursery.stdin.write(json.dumps(order) + "\n")
        nursery.stdin.flush()
        return int(nursery.stdout.readline())

    return lived


def report(home: Path, kind: str) -> dict[str, Any]:
    return json.loads((home / f"{kind}.json").read_text())  # type: ignore[no-any-return]


def points_of(whole: dict[str, Any]) -> list[int]:
    """Just before and just after every change of the disk and every start of a process, and some
    lines in between; in a soak all lines that are executed, each as often as it is."""
    if SOAK:
        return list(range(1, whole["count"] + 1))
    around = {at + step for at in whole["changes"] for step in (0, 1) if at}
    return sorted(around | set(whole["firsts"][::8]))


def runs(home: Path) -> int:
    ran = home / "ran"
    return len(ran.read_text().splitlines()) if ran.exists() else 0


def test_c24_a_gateway_killed_at_any_line_runs_the_command_once_and_finds_its_outcome(
    life: Life, tmp_path: Path
) -> None:
    command = "echo once >> ran; sleep 0.01; echo done; exit 3"
    assert life("whole", "run", command) == 0
    points = points_of(report(tmp_path / "whole", "run"))
    assert len(points) > 30
    known = 0
    for at in points:
        name, home = f"at-{at}", tmp_path / f"at-{at}"
        code = life(name, "run", command, at)
        assert code in (-signal.SIGKILL, 0), "the end of a life may come before a late point"
        prepared = (home / "calls" / CALL / "meta").exists()
        assert life(name, "seek", command) == 0
        found = report(home, "seek")
        if prepared:
            assert found["outcome"] == "failed", f"killed at {at}: {found}"
            assert "done\n[exit status 3]" in str(found["text"])
            assert runs(home) == 1, f"killed at {at}"
            known += 1
        else:
            assert found["outcome"] is None
    assert known > len(points) / 2
    late = [home.name for home in tmp_path.iterdir() if runs(home) > 1]
    assert late == [], "a stale wrapper began it again"


def test_c24_what_was_never_prepared_never_runs(life: Life, tmp_path: Path) -> None:
    assert life("early", "run", "echo once >> ran", at=1) == -signal.SIGKILL
    assert life("early", "seek", "echo once >> ran") == 0
    assert report(tmp_path / "early", "seek")["outcome"] is None
    assert runs(tmp_path / "early") == 0


def test_c24_a_stopped_stale_gateway_cannot_begin_what_was_begun_for_it(
    calls: Path, launch: Made, tmp_path: Path
) -> None:
    """Two gateways hold the same call; the first one's wrapper comes to the gate last."""

    async def both() -> None:
        slow = WRAPPER.replace("set -C", "sleep 0.5; set -C")
        stale = LocalTerminal(calls, environ=os.environ, script=slow)
        fresh = LocalTerminal(calls, environ=os.environ)
        late = asyncio.create_task(stale.launch(launch("echo once >> ran")))
        await asyncio.sleep(0.1)
        await fresh.launch(launch("echo once >> ran"))
        assert (await fresh.wait(CALL, 10)).state == Ended(0)
        await asyncio.sleep(0.7)
        assert (await late).launch.id == CALL
        assert (await stale.wait(CALL, 10)).state == Ended(0)
        await stale.close()
        await fresh.close()

    asyncio.run(both())
    assert runs(tmp_path) == 1


def wrappers_killed_at_each_statement() -> list[tuple[int, str]]:
    """The wrapper with `kill -9 $$` in front of each line where the shell takes one."""
    lines = WRAPPER.strip().split("\n")
    variants = []
    for at in range(len(lines) + 1):
        text = "\n".join([*lines[:at], "kill -9 $$", *lines[at:]])
        checked = subprocess.run(["sh", "-n", "-c", text], capture_output=True, check=False)
        if checked.returncode == 0:
            variants.append((at, text))
    return variants


@pytest.mark.parametrize(("at", "script"), wrappers_killed_at_each_statement())
async def test_c24_a_killed_wrapper_leaves_the_truth(
    calls: Path, launch: Made, tmp_path: Path, at: int, script: str
) -> None:
    lines = WRAPPER.strip().split("\n")
    gate = next(n for n, line in enumerate(lines) if "begun" in line)
    status = next(n for n, line in enumerate(lines) if line.startswith("mv "))
    limits = Limits(grace_s=0.3)
    first = LocalTerminal(calls, environ=os.environ, limits=limits, script=script)
    await first.launch(launch("echo once >> ran", timeout_s=0.6))
    seen = await first.wait(CALL, 10)
    await first.close()
    if at <= gate:
        assert (seen.state, runs(tmp_path)) == (Ended(None, "unstarted"), 0)
    elif at > status:
        assert (seen.state, runs(tmp_path)) == (Ended(0), 1)
    elif seen.state == Ended(0):
        assert runs(tmp_path) == 1, "this line belongs to commands of the other kind"
    else:
        assert seen.state in (Lost(), Ended(None, "timeout"))
        assert runs(tmp_path) <= 1
    second = LocalTerminal(calls, environ=os.environ, limits=limits)
    again = await second.launch(launch("echo once >> ran"))
    assert again.state == seen.state, "a second launch finds the first"
    await second.close()
    assert runs(tmp_path) <= 1


async def test_c24_a_command_outlives_its_gateway_and_the_next_one_waits_for_it(
    terminal: LocalTerminal, calls: Path, tmp_path: Path
) -> None:
    gateway = launched_by_another(tmp_path, "sleep 0.6; echo built; exit 4", timeout_s=30)
    await until_begun(calls)
    gateway.send_signal(signal.SIGKILL)
    gateway.wait()
    seen = await terminal.look(CALL)
    assert seen is not None
    assert seen.state == Running()
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(4)
    assert await terminal.read(CALL, 0, 100) == b"built\n"


async def test_c24_the_time_limit_holds_across_a_restart(
    terminal: LocalTerminal, calls: Path, tmp_path: Path
) -> None:
    began = time.monotonic()
    gateway = launched_by_another(tmp_path, "echo begun; sleep 60", timeout_s=1.2)
    await until_begun(calls)
    gateway.send_signal(signal.SIGKILL)
    gateway.wait()
    seen = await terminal.wait(CALL, 20)
    assert seen.state == Ended(143, "timeout")
    assert time.monotonic() - began < 6
    assert await terminal.read(CALL, 0, 100) == b"begun\n"


def launched_by_another(home: Path, command: str, *, timeout_s: float) -> "subprocess.Popen[bytes]":
    """A gateway of its own that launches the command and waits for it."""
    program = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from hermes.views.terminal import Launch\n"
        "from hermes.terminals.local import LocalTerminal\n"
        "async def main():\n"
        "    terminal = LocalTerminal(Path(sys.argv[1]) / 'calls', environ=os.environ)\n"
        "    await terminal.launch(Launch(id='turn-1', session='s', command=sys.argv[2],\n"
        "        workdir=sys.argv[1], timeout_s=float(sys.argv[3])))\n"
        "    await terminal.wait('turn-1', 60)\n"
        "asyncio.run(main())\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [sys.executable, "-c", program, str(home), command, str(timeout_s)], env=env
    )


async def until_begun(calls: Path) -> None:
    folder = Folder(calls, CALL)
    for _ in range(500):
        if folder.gate() is not None:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never began")
