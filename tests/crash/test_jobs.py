"""C73: death at every write of a job's life. No occurrence is lost, run twice or answered twice."""

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.core.events import MessageReceived, Span
from hermes.core.jobs import occurrence_id
from hermes.core.messages import Outcome
from hermes.core.session import Idle
from hermes.stores.sqlite import open_sqlite
from tests.crash.fuse import How
from tests.crash.jobs import HOUR, T0
from tests.crash.test_kills import KILLED, Nursery, deaths
from tests.crash.world import notes

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
    flushes = [death for death in every if labels[death[0] - 1] != "write"]
    writes = [death for death in every if labels[death[0] - 1] == "write"]
    return sorted({*flushes[::2], *writes[::40]})


async def check(home: Path) -> None:
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    try:
        assert await store.upkeep.check() == []
        [row] = await store.jobs.jobs(limit=10, removed=True)
        assert (row.cursor, row.due_at) == (T0 + 2 * HOUR, T0 + 3 * HOUR)
        events = await store.library.events(row.key)
        taken = [each.inbound.id for each in events if isinstance(each, MessageReceived)]
        wanted = [occurrence_id(row.id, T0 + hour * HOUR) for hour in (1, 2)]
        assert [id_ for id_ in taken if id_.startswith(row.id)] == wanted
        turns = await store.library.turns(limit=10, key=row.key)
        assert [turn.state for turn in turns] == ["answered", "answered"]
        assert len({turn.session for turn in turns}) == 2, "each run has its own conversation"
        session = await store.journal.load(row.key)
        assert isinstance(session.phase, Idle)
        assert (session.waiting, session.failures) == ((), 0)
        assert set(Counter(notes(home / "pay.ran")).values()) <= {1}
        for turn in turns:
            lines = await store.journal.lines([Span(turn.session)])
            results = [line.outcome for line in lines if line.role == "tool"]
            assert results[0] in (Outcome.OK, Outcome.UNKNOWN)
            assert results[1] is Outcome.OK
        before = await store.jobs.jobs(limit=10), await store.library.sessions(limit=10)
        await store.library.rebuild()
        assert before == (await store.jobs.jobs(limit=10), await store.library.sessions(limit=10))
    finally:
        await store.upkeep.close()
    sent = "".join(dict(notes(home / "sent")).values())
    assert sent.count("done: [A scheduled run of the job “bill”") == 2


@pytest.mark.parametrize("part", range(SLICES))
async def test_c73_no_occurrence_is_lost_or_run_twice_after_a_death_at_every_point(
    nursery: Nursery, quick_path: Path, part: int
) -> None:
    whole = quick_path / "whole"
    whole.mkdir()
    assert nursery.live(whole, 0, "before", keyed=True, does="scheduled") == 0
    await check(whole)
    labels = (whole / "trace").read_text(encoding="utf-8").splitlines()
    kills = 0
    for at, how in chosen(labels)[part::SLICES]:
        home = quick_path / f"{at}-{how}"
        home.mkdir()
        kills += nursery.live(home, at, how, keyed=True, does="scheduled") == KILLED
        assert nursery.live(home, 0, "before", keyed=True, does="scheduled") == 0
        try:
            await check(home)
        except (AssertionError, ValueError) as broken:
            broken.add_note(f"killed {how} point {at} ({labels[at - 1]}) of {len(labels)}")
            raise
        shutil.rmtree(home)
    assert kills >= KILLS_MIN / SLICES, "the suite has become vacuous"
