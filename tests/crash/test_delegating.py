"""C72: death at every write of a turn that waits for sessions which do parts of its work."""

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.core.child_sessions import child_key
from hermes.core.messages import Outcome
from hermes.core.session import Idle
from hermes.stores.sqlite import open_sqlite
from tests.crash.fuse import How
from tests.crash.test_kills import KILLED, Nursery, deaths
from tests.crash.world import KEY, notes
from tests.unit.core.strict import faults, request_lines

SLICES = 4
KILLS_MIN = 60


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    server = Nursery()
    yield server
    server.close()


def chosen(labels: list[str]) -> list[tuple[int, How]]:
    """Around every flush and every touch of the world, and some of the writes between them."""
    every = deaths(labels)
    if os.environ.get("HERMES_SOAK"):
        return every
    writes = [death for death in every if labels[death[0] - 1] == "write"]
    return sorted({*every} - {*writes} | {*writes[::12]})


async def check(home: Path) -> None:
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    try:
        assert await store.upkeep.check() == []
        session = await store.journal.load(KEY)
        assert isinstance(session.phase, Idle)
        assert session.waiting == ()
        lines = list(await store.journal.lines(session.view.spans))
        assert faults(request_lines(session, lines)) == []
        first, second, pay = [line for line in lines if line.role == "tool"]
        for result in (first, second):
            assert result.outcome is Outcome.OK
            assert result.text.endswith("]\ndone: a part of it")
            child = child_key(result.call)
            [turn] = await store.library.turns(limit=10, key=child)
            assert turn.state == "answered", "a part of the work was lost or done twice"
        assert pay.outcome in (Outcome.OK, Outcome.UNKNOWN)
        assert set(Counter(notes(home / "pay.ran")).values()) <= {1}
        [turn] = await store.library.turns(limit=10, key=KEY)
        assert turn.state == "answered"
        before = await store.library.sessions(limit=10)
        await store.library.rebuild()
        assert before == await store.library.sessions(limit=10)
    finally:
        await store.upkeep.close()
    assert "".join(dict(notes(home / "sent")).values()) == "done: please 1"


@pytest.mark.parametrize("part", range(SLICES))
async def test_c72_no_part_of_the_work_is_lost_or_done_twice_after_a_death_at_every_point(
    nursery: Nursery, quick_path: Path, part: int
) -> None:
    whole = quick_path / "whole"
    whole.mkdir()
    assert nursery.live(whole, 0, "before", keyed=True, does="delegates") == 0
    await check(whole)
    labels = (whole / "trace").read_text(encoding="utf-8").splitlines()
    kills = 0
    for at, how in chosen(labels)[part::SLICES]:
        home = quick_path / f"{at}-{how}"
        home.mkdir()
        kills += nursery.live(home, at, how, keyed=True, does="delegates") == KILLED
        assert nursery.live(home, 0, "before", keyed=True, does="delegates") == 0
        try:
            await check(home)
        except (AssertionError, ValueError) as broken:
            broken.add_note(f"killed {how} point {at} ({labels[at - 1]}) of {len(labels)}")
            raise
        shutil.rmtree(home)
    assert kills >= KILLS_MIN / SLICES, "the suite has become vacuous"
