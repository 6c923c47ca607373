"""The laws that must hold after any number of deaths, read from the outside world and the store."""

import time
from collections import Counter
from pathlib import Path

from hermes.core.messages import Line, Outcome
from hermes.core.session import Idle
from hermes.core.transcript import spoken
from hermes.gateway.delivery import REPEAT
from hermes.stores.sqlite import open_sqlite
from tests.crash.world import KEY, NOTE, notes
from tests.unit.core.strict import faults, request_lines


async def check(home: Path, *, messages: int, deaths: int, keyed: bool) -> None:
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    try:
        assert await store.upkeep.check() == []
        session = await store.journal.load(KEY)
        lines = list(await store.journal.lines(session.view.spans))
        assert isinstance(session.phase, Idle)
        assert session.waiting == ()
        assert faults(request_lines(session, lines)) == [], "C25"
        assert not [x for x in lines if NOTE in spoken(x)], "C30: a note was stored"
        turns = await store.library.turns(limit=10)
        assert {turn.state for turn in turns} == {"answered"}
        before = (lines, turns, await store.library.sessions(limit=10))
        await store.library.rebuild()
        after = list(await store.journal.lines(session.view.spans))
        assert before == (
            after,
            await store.library.turns(limit=10),
            await store.library.sessions(limit=10),
        ), "projections differ from the journal"
    finally:
        await store.upkeep.close()
    check_messages(lines, messages)
    check_calls(home, lines, deaths)
    check_sent(home, lines, keyed=keyed)
    check_asked(home, deaths)


def check_messages(lines: list[Line], messages: int) -> None:
    said = [text for line in lines if line.role == "user" for text in line.text.split("\n\n")]
    wanted = [f"please {n}" for n in range(1, messages + 1)]
    assert sorted(said) == wanted, "a message was lost or taken twice"


def check_calls(home: Path, lines: list[Line], deaths: int) -> None:
    ran = {name: Counter(notes(home / f"{name}.ran")) for name in ("look", "tidy", "pay")}
    results = {line.call: line for line in lines if line.role == "tool"}
    tools = {call.id: call.tool for line in lines for call in line.calls}
    assert set(results) == set(tools), "a call without exactly one result"
    for call, name in tools.items():
        times, outcome = ran[name][call], results[call].outcome
        if name == "pay":
            assert times <= 1, "C23: an effect ran twice"
            assert outcome in (Outcome.OK, Outcome.UNKNOWN)
            assert times == 1 or outcome is Outcome.UNKNOWN, "C20: a result without its effect"
        else:
            assert outcome is Outcome.OK, "C22: a repeatable call was given up"
            assert 1 <= times <= 1 + deaths


def check_sent(home: Path, lines: list[Line], *, keyed: bool) -> None:
    answers = [line.text for line in lines if line.role == "assistant" and not line.calls]
    sent = [(key, text) for key, text in notes(home / "sent")]
    if keyed:
        shown = dict(sent)
        assert all(shown[key] == text for key, text in sent), "one key, two texts"
        assert "".join(shown.values()) == "".join(answers), "C26: not the stored answer"
        return
    firsts = [text for _, text in sent if not text.startswith(REPEAT)]
    plain = [text.removeprefix(f"{REPEAT}\n\n") for _, text in sent]
    assert len(firsts) == len(set(firsts)), "C51: a repeat without its mark"
    assert "".join(dict.fromkeys(plain)) == "".join(answers)


def check_asked(home: Path, deaths: int) -> None:
    counts = [count for count, _ in notes(home / "asked")]
    assert set(counts) <= {0, 1}, "C30: more than one note"
    if not deaths:
        assert set(counts) == {0}, "C34: a note without a reason"
