"""C85: death at every write of a turn that asks its person something."""

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.core.messages import Outcome
from hermes.core.session import Idle
from hermes.stores.sqlite import open_sqlite
from tests.crash.fuse import How
from tests.crash.test_kills import KILLED, Nursery, deaths
from tests.crash.world import KEY, notes
from tests.unit.core.strict import faults, request_lines

KILLS_MIN = 20


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    server = Nursery()
    yield server
    server.close()


def chosen(labels: list[str]) -> list[tuple[int, How]]:
    """Around every touch of the world, and some of the flushes and writes between them."""
    every = deaths(labels)
    if os.environ.get("HERMES_SOAK"):
        return every
    inner = [death for death in every if labels[death[0] - 1] in ("write", "flush")]
    return sorted({*every} - {*inner} | {*inner[::24]})


async def check(home: Path) -> None:
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    try:
        assert await store.upkeep.check() == []
        session = await store.journal.load(KEY)
        assert isinstance(session.phase, Idle)
        assert session.waiting == ()
        lines = list(await store.journal.lines(session.view.spans))
        assert faults(request_lines(session, lines)) == []
        asked, pay = [line for line in lines if line.role == "tool"]
        assert (asked.text, asked.outcome) == ("blue", Outcome.OK), "the answer came once"
        assert pay.outcome in (Outcome.OK, Outcome.UNKNOWN)
        assert set(Counter(notes(home / "pay.ran")).values()) <= {1}
        assert [line.text for line in lines if line.role == "user"] == ["please 1"]
        [question] = await store.library.questions(limit=10)
        assert question.state == "approved"
        [turn] = await store.library.turns(limit=10, key=KEY)
        assert turn.state == "answered", "the answer began no turn of its own"
    finally:
        await store.upkeep.close()
    sent = dict(notes(home / "sent"))
    assert "".join(sent.values()).count("Which colour?") == 1
    assert "".join(sent.values()).endswith("done: please 1")


async def test_c85_a_question_is_asked_and_answered_once_after_a_death_at_every_point(
    nursery: Nursery, quick_path: Path
) -> None:
    whole = quick_path / "whole"
    whole.mkdir()
    assert nursery.live(whole, 0, "before", keyed=True, does="clarifies") == 0
    await check(whole)
    labels = (whole / "trace").read_text(encoding="utf-8").splitlines()
    assert {"tool ask", "send", "answer", "tool pay"} <= set(labels)
    kills = 0
    for at, how in chosen(labels):
        home = quick_path / f"{at}-{how}"
        home.mkdir()
        kills += nursery.live(home, at, how, keyed=True, does="clarifies") == KILLED
        assert nursery.live(home, 0, "before", keyed=True, does="clarifies") == 0
        try:
            await check(home)
        except (AssertionError, ValueError) as broken:
            broken.add_note(f"killed {how} point {at} ({labels[at - 1]}) of {len(labels)}")
            raise
        shutil.rmtree(home)
    assert kills >= KILLS_MIN, "the suite has become vacuous"
