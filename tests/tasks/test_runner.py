"""The runner counts what was done, and says how far runs differ."""

import asyncio
import json
import sys
from pathlib import Path

from tests.tasks.playing import Played
from tests.tasks.run import summed_up

ROOT = Path(__file__).parents[2]


def played(task: str, *, done: bool) -> Played:
    return Played(task=task, done=done, replies=("x",), calls=1, seconds=1.0)


def test_several_runs_are_summed_up_with_their_spread() -> None:
    runs = [[played("a", done=True), played("b", done=n > 0)] for n in range(3)]
    spread = summed_up(runs)
    assert spread.done == (1, 2, 2)
    assert spread.by_task == {"a": 3, "b": 2}
    assert spread.line() == "1.7 of 2 (1 to 2 in 3 runs)"
    assert summed_up(runs[1:]).line() == "2 of 2 in each of 2 runs"


async def test_the_program_plays_and_writes_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.tasks.run", "--oracle", "kimi", "--task", "files/create"),
        *("--json", str(report)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await asyncio.wait_for(child.communicate(), 120)
    assert out.decode().split() == ["kimi", "1", "of", "1", "in", "each", "of", "1", "runs"]
    [run] = json.loads(report.read_text(encoding="utf-8"))["kimi"]
    assert run[0]["done"] is True
