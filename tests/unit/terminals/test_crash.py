"""C24 with real kills: of the gateway around every write, of the wrapper at every line."""

import ast
import asyncio
import inspect
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
from hermes.ports.terminal import CommandLaunch, CommandRunning, Ended, Lost
from hermes.terminals import wrapper
from hermes.terminals.local import LocalTerminal
from hermes.terminals.records import CallFolder
from hermes.terminals.register import CommandLimits
from tests.unit.terminals.launchers import dying_launcher, slow_launcher

ROOT = Path(__file__).parents[3]
CALL = CallId("turn-1")
WRAPPING = (
    "wrap",
    "_began",
    "_stay",
    "_forked",
    "pour",
    "settle",
    "_made_ahead",
    "_leave",
    "_made",
)
Made = Callable[..., CommandLaunch]
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
        stale = LocalTerminal(calls, environ=os.environ, launcher=slow_launcher(0.5))
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


def lines_of_a_wrapper() -> list[tuple[str, int]]:
    """Every statement that a wrapper may be killed in front of, and its function."""
    found = []
    for node in ast.walk(ast.parse(inspect.getsource(wrapper))):
        if isinstance(node, ast.FunctionDef) and node.name in WRAPPING:
            inside = {each.lineno for each in ast.walk(node) if isinstance(each, ast.stmt)}
            found += [(node.name, line) for line in sorted(inside - {node.lineno})]
    return found


@pytest.mark.parametrize(("function", "line"), lines_of_a_wrapper())
async def test_c24_a_killed_wrapper_leaves_the_truth(
    calls: Path, launch: Made, tmp_path: Path, function: str, line: int
) -> None:
    text = inspect.getsource(wrapper).splitlines()
    gate = next(at for at, each in enumerate(text, 1) if "O_EXCL, 0o600" in each)
    limits = CommandLimits(grace_s=0.3)
    first = LocalTerminal(calls, environ=os.environ, limits=limits, launcher=dying_launcher(line))
    await first.launch(launch("echo once >> ran", timeout_s=0.6))
    seen = await first.wait(CALL, 10)
    await first.close()
    if seen.state == Ended(None, "unstarted"):
        assert function == "wrap" or line <= gate
        assert runs(tmp_path) == 0
    elif seen.state == Ended(0):
        assert runs(tmp_path) == 1, "killed late, or never: the line belongs to another case"
    else:
        assert seen.state in (Lost(), Ended(None, "timeout"))
        assert function != "_began" or line > gate
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
    assert seen.state == CommandRunning()
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
    assert time.monotonic() - began < 30
    assert await terminal.read(CALL, 0, 100) == b"begun\n"


def launched_by_another(home: Path, command: str, *, timeout_s: float) -> "subprocess.Popen[bytes]":
    """A gateway of its own that launches the command and waits for it."""
    program = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from hermes.ports.terminal import CommandLaunch\n"
        "from hermes.terminals.local import LocalTerminal\n"
        "async def main():\n"
        "    terminal = LocalTerminal(Path(sys.argv[1]) / 'calls', environ=os.environ)\n"
        "    await terminal.launch(CommandLaunch(id='turn-1', session='s', command=sys.argv[2],\n"
        "        workdir=sys.argv[1], timeout_s=float(sys.argv[3])))\n"
        "    await terminal.wait('turn-1', 60)\n"
        "asyncio.run(main())\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [sys.executable, "-c", program, str(home), command, str(timeout_s)], env=env
    )


async def until_begun(calls: Path) -> None:
    folder = CallFolder(calls, CALL)
    for _ in range(500):
        if folder.gate() is not None:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never began")
