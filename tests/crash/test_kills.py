"""Kill the process before, inside and after every write and touch of a turn; the laws must hold.

The points are counted in a first life that nobody kills. `HERMES_SOAK=1` adds random chains of
deaths; the seed is printed.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.crash.fuse import How
from tests.crash.laws import check

ROOT = Path(__file__).parents[2]
KILLED = -9
SLICES = 8
KILLS_MIN = 200
CHAINS = 400 if os.environ.get("HERMES_SOAK") else 12


class Nursery:
    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.nursery"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def live(
        self,
        home: Path,
        at: int,
        how: How,
        *,
        keyed: bool,
        messages: int = 1,
        does: Literal["", "asks", "clarifies", "delegates", "scheduled"] = "",
    ) -> int:
        """One life; how the process ended. `does` is what is special about it."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        order = {
            "home": str(home),
            "at": at,
            "how": how,
            "on_doubt": "same_key" if keyed else "mark_repeat",
            "messages": messages,
            "asks": does == "asks",
            "clarifies": does == "clarifies",
            "delegates": does == "delegates",
            "scheduled": does == "scheduled",
        }
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        status = int(self._server.stdout.readline())
        if status not in (0, KILLED):
            pytest.fail((home / "traceback").read_text(encoding="utf-8"))
        return status

    def close(self) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait(10)
        self._server.stdout.close()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    server = Nursery()
    yield server
    server.close()


def points(nursery: Nursery, home: Path, *, keyed: bool) -> list[str]:
    """The labels of all points of an undisturbed life."""
    home.mkdir()
    assert nursery.live(home, 0, "before", keyed=keyed, messages=1) == 0
    return (home / "trace").read_text(encoding="utf-8").splitlines()


def deaths(labels: list[str]) -> list[tuple[int, How]]:
    """Before and after each point, and inside where a write can be torn."""
    found: list[tuple[int, How]] = []
    for n, label in enumerate(labels, start=1):
        found.append((n, "before"))
        if label == "write":
            found.append((n, "inside"))
        if label != "write" or n == len(labels):
            found.append((n, "after"))
    return found


@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "keyless"])
async def test_c20_to_c26_hold_after_a_death_at_every_point(
    nursery: Nursery, quick_path: Path, part: int, keyed: bool
) -> None:
    labels = points(nursery, quick_path / "whole", keyed=keyed)
    await check(quick_path / "whole", messages=1, deaths=0, keyed=keyed)
    kills = 0
    for at, how in deaths(labels)[part::SLICES]:
        home = quick_path / f"{at}-{how}"
        home.mkdir()
        if nursery.live(home, at, how, keyed=keyed, messages=1) == KILLED:
            kills += 1
        assert nursery.live(home, 0, "before", keyed=keyed, messages=1) == 0
        try:
            await check(home, messages=1, deaths=1, keyed=keyed)
        except AssertionError as broken:
            broken.add_note(f"killed {how} point {at} ({labels[at - 1]}) of {len(labels)}")
            raise
        shutil.rmtree(home)
    assert kills >= KILLS_MIN / SLICES, "the suite has become vacuous"


async def test_chains_of_deaths_at_random_points_break_no_law(
    nursery: Nursery, quick_path: Path
) -> None:
    seed = int(os.environ.get("HERMES_SEED", str(time.time_ns() % 10**9)))
    sys.stdout.write(f"HERMES_SEED={seed}\n")
    chance = random.Random(seed)
    reach = len(points(nursery, quick_path / "whole", keyed=True))
    for n in range(CHAINS):
        home = quick_path / f"chain{n}"
        home.mkdir()
        died = 0
        for _ in range(chance.randint(1, 6)):
            how = chance.choice(["before", "inside", "after"])
            status = nursery.live(home, chance.randint(1, reach), how, keyed=True, messages=2)
            died += status == KILLED
        assert nursery.live(home, 0, "before", keyed=True, messages=2) == 0
        try:
            await check(home, messages=2, deaths=died, keyed=True)
        except AssertionError as broken:
            broken.add_note(f"HERMES_SEED={seed}, chain {n}")
            raise
        shutil.rmtree(home)
