"""An oracle gets every task done in every dialect: Hermes does not get in a model's way.

A plain run plays each task and each dialect at least once; `HERMES_SOAK=1` plays all pairs.
"""

import os
from itertools import product
from pathlib import Path

import pytest

from tests.tasks.catalogue import TASKS
from tests.tasks.oracle import STYLES, oracle, profile_of
from tests.tasks.playing import play

NOT_FOR_SMALL = ("skills/",)  # the small profile has no tools for them


def pairs() -> list[tuple[str, str]]:
    """Pairs of task and style: each at least once, the same in every run."""
    if os.environ.get("HERMES_SOAK"):
        every = list(product(TASKS, STYLES))
    else:
        names = list(TASKS)
        count = max(len(names), len(STYLES))
        every = [(names[n % len(names)], STYLES[n % len(STYLES)]) for n in range(count)]
    return [pair for pair in every if not _is_unfit(*pair)]


def _is_unfit(task: str, style: str) -> bool:
    return style == "small" and task.startswith(NOT_FOR_SMALL)


def test_there_are_thirty_tasks_and_each_is_played_in_every_run() -> None:
    assert len(TASKS) >= 30
    assert {task.family for task in TASKS.values()} >= {
        *("files", "shell", "memory", "recall", "todo", "skills", "injection", "honesty")
    }
    assert {task for task, _ in pairs()} == set(TASKS)
    assert {style for _, style in pairs()} == set(STYLES)


@pytest.mark.parametrize(("task", "style"), pairs())
async def test_the_oracle_gets_the_task_done(task: str, style: str, tmp_path: Path) -> None:
    async with oracle(style).up() as model:
        section = {"provider": "custom", "base_url": model.url, "name": "oracle", "api_key": "x"}
        played = await play(TASKS[task], section | profile_of(style), tmp_path, limit_s=120)
    assert played.done, (played.fault, played.replies)
