"""Play the tasks against any OpenAI-compatible model, several times, and report the spread.

    .venv/bin/python -m tests.tasks.run --base-url http://127.0.0.1:8080/v1 --model NAME --runs 3
    .venv/bin/python -m tests.tasks.run --oracle all

The functions are for `hermes eval` as well: `evaluate` plays, `summed_up` counts.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.tasks.catalogue import TASKS
from tests.tasks.oracle import STYLES, oracle, profile_of
from tests.tasks.playing import TASK_S_MAX, Played, play

Runs = Sequence[Sequence[Played]]


@dataclass(frozen=True)
class Spread:
    """How many tasks were done in each run, and how often each task was."""

    tasks: int
    done: tuple[int, ...]
    by_task: Mapping[str, int]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.done) if self.done else 0.0

    def line(self) -> str:
        if len(set(self.done)) == 1:
            return f"{self.done[0]} of {self.tasks} in each of {len(self.done)} runs"
        low, high = min(self.done), max(self.done)
        return f"{self.mean:.1f} of {self.tasks} ({low} to {high} in {len(self.done)} runs)"


async def evaluate(
    model: Mapping[str, Any],
    tasks: Sequence[str],
    *,
    runs: int = 1,
    limit_s: float = TASK_S_MAX,
    report: Callable[[Played], None] = lambda _played: None,
) -> Runs:
    """Play each task once in each run. `model` is the section of config.yaml."""
    every: list[list[Played]] = []
    for _ in range(runs):
        every.append([])
        for name in tasks:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                played = await play(TASKS[name], model, Path(folder), limit_s=limit_s)
            every[-1].append(played)
            report(played)
    return every


async def evaluate_oracle(
    style: str, tasks: Sequence[str], report: Callable[[Played], None] = lambda _played: None
) -> Runs:
    """Let the oracle play in one style."""
    async with oracle(style).up() as server:
        section = {"provider": "custom", "base_url": server.url, "name": "oracle", "api_key": "x"}
        return await evaluate(section | profile_of(style), tasks, limit_s=120, report=report)


def summed_up(runs: Runs) -> Spread:
    names = [played.task for played in runs[0]] if runs else []
    return Spread(
        tasks=len(names),
        done=tuple(sum(played.done for played in run) for run in runs),
        by_task={
            name: sum(played.done for run in runs for played in run if played.task == name)
            for name in names
        },
    )


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _told(played: Played) -> None:
    mark = "done" if played.done else "FAILED"
    said = " ".join((played.replies[-1] if played.replies else played.fault).split())[:70]
    _tell(f"{mark:6} {played.task:28} {played.calls:3} calls {played.seconds:6.1f} s  {said}")


async def _main(options: argparse.Namespace) -> Mapping[str, Runs]:
    tasks = [name for name in TASKS if not options.task or name.startswith(tuple(options.task))]
    report: dict[str, Runs] = {}
    for style in STYLES if options.oracle == ["all"] else options.oracle:
        report[style] = await evaluate_oracle(style, tasks)
        _tell(f"{style:26} {summed_up(report[style]).line()}")
    if options.base_url:
        section = {"provider": "custom", "base_url": options.base_url, "name": options.model}
        section |= {"api_key": options.key, "extra_body": {"temperature": options.temperature}}
        section |= {"profile": options.profile} if options.profile else {}
        limits = {"runs": options.runs, "limit_s": options.limit_s}
        report[options.model] = await evaluate(section, tasks, report=_told, **limits)
        _tell(f"{options.model}: {summed_up(report[options.model]).line()}")
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tasks.run", description=__doc__)
    parser.add_argument("--oracle", nargs="*", default=[], metavar="STYLE", help="“all”, or styles")
    parser.add_argument("--base-url", default="", help="an OpenAI-compatible server")
    parser.add_argument("--model", default="model")
    parser.add_argument("--key", default="none")
    parser.add_argument("--profile", choices=["", "auto", "full", "small"], default="")
    parser.add_argument("--temperature", type=float, default=0.2)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=TASK_S_MAX, help="for one task")
    parser.add_argument(
        "--task", nargs="*", default=[], metavar="NAME", help="or a beginning of it"
    )
    parser.add_argument("--json", default="", help="write everything into this file")
    options = parser.parse_args()
    report = asyncio.run(_main(options))
    if options.json:
        plain = {
            name: [[asdict(one) for one in run] for run in runs] for name, runs in report.items()
        }
        Path(options.json).write_text(json.dumps(plain, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
