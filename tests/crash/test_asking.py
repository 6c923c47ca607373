"""POL-4 and AUD-1: death at every write of a call that a person is asked about.

It happens once, or its outcome is said to be unknown, and the record tells no other story.
"""

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from hermes.core.audit import AuditEntry
from hermes.core.ids import CallId
from hermes.core.messages import Outcome
from hermes.core.session import Idle
from hermes.stores.sqlite import open_sqlite
from tests.crash.fuse import How
from tests.crash.test_kills import KILLED, Nursery, deaths
from tests.crash.world import KEY, notes

SLICES = 3
KILLS_MIN = 60
STAGES = ("model", "send", "press", "tool pay")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    server = Nursery()
    yield server
    server.close()


def points(nursery: Nursery, home: Path) -> list[str]:
    home.mkdir()
    assert nursery.live(home, 0, "before", keyed=True, does="asks") == 0
    return (home / "trace").read_text(encoding="utf-8").splitlines()


def chosen(labels: list[str]) -> list[tuple[int, How]]:
    """Around every flush and every touch of the world, and of the writes between them some."""
    every = deaths(labels)
    if os.environ.get("HERMES_SOAK"):
        return every
    writes = [death for death in every if labels[death[0] - 1] == "write"]
    return sorted({*every} - {*writes[1::3], *writes[2::3]})


async def check(home: Path) -> Outcome:
    """What the world says, what the session says and what the record says are one."""
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    try:
        session = await store.journal.load(KEY)
        assert isinstance(session.phase, Idle)
        lines = await store.journal.lines(session.view.spans)
        [result] = [line for line in lines if line.role == "tool"]
        ran = Counter(notes(home / "pay.ran"))
        assert set(ran.values()) <= {1}, "POL-4: it was done twice"
        assert result.outcome in (Outcome.OK, Outcome.UNKNOWN)
        assert ran or result.outcome is Outcome.UNKNOWN, "POL-4: a yes was lost"
        [question] = await store.library.questions(limit=10)
        assert question.state == "used"
        entries = [row.entry for row in await store.audit.entries(limit=1_000)]
        _check_record(entries, result.call, result.outcome)
        assert await store.audit.check({}) == []
        return result.outcome
    finally:
        await store.upkeep.close()


def _check_record(entries: Sequence[AuditEntry], call: CallId, outcome: Outcome) -> None:
    """AUD-1: no effect without its entry, no entry without what it tells of."""
    assert [each.kind for each in entries] == ["asked", "approved", "started", "ended"]
    bodies = [msgspec.json.decode(each.body, type=dict[str, object]) for each in entries]
    assert {body["call"] for body in bodies} == {call}
    asked, approved, started, ended = bodies
    assert asked["question"] == approved["question"] == started["approval"]
    assert approved["by"] == "wire:1"
    assert ended["outcome"] == outcome.value


@pytest.mark.parametrize("part", range(SLICES))
async def test_pol_04_aud_01_death_at_any_point_of_an_approval_runs_it_once_or_says_unknown(
    nursery: Nursery, quick_path: Path, part: int
) -> None:
    labels = points(nursery, quick_path / "whole")
    assert await check(quick_path / "whole") is Outcome.OK
    assert set(STAGES) <= set(labels), "the question is shown, answered and acted on in a life"
    kills, outcomes = 0, Counter[Outcome]()
    for at, how in chosen(labels)[part::SLICES]:
        home = quick_path / f"{at}-{how}"
        home.mkdir()
        kills += nursery.live(home, at, how, keyed=True, does="asks") == KILLED
        assert nursery.live(home, 0, "before", keyed=True, does="asks") == 0
        try:
            outcomes[await check(home)] += 1
        except (AssertionError, ValueError) as broken:
            broken.add_note(f"killed {how} point {at} ({labels[at - 1]}) of {len(labels)}")
            raise
        shutil.rmtree(home)
    assert kills >= KILLS_MIN / SLICES, "the suite has become vacuous"
    assert outcomes[Outcome.OK] > 3 * outcomes[Outcome.UNKNOWN], "unknown is rare"
