"""What is summed up, what is read on, and what is kept word for word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.budget import tokens_of
from hermes.core.errors import Refused
from hermes.core.fold import fold
from hermes.core.ids import SessionId
from hermes.core.messages import Address, Call, Line, Outcome, Usage
from hermes.core.rules import DecisionContext
from hermes.core.session import Session
from hermes.core.transcript import APPROVED
from hermes.summaries import cut as compaction
from tests.unit.core.life import Life
from tests.unit.core.strategies import KEY
from tests.unit.core.strict import request_lines

HERE = Address(platform="local", chat="one")
ROOM = 2_000
KEEP = 400


def conversation(turns: int, *, result: int = 2_000, prefix: str = "t") -> list[Line]:
    lines: list[Line] = []
    for n in range(turns):
        turn = f"{prefix}{n}"
        call = Call(id=f"{turn}-1", tool="look", arguments='{"at": "x"}')
        lines += [
            Line(role="user", text=f"please do number {n}", turn=turn),
            Line(role="assistant", calls=(call,), turn=turn),
            Line(role="tool", call=call.id, text=f"result {n} " + "x" * result, turn=turn),
            Line(role="assistant", text=f"number {n} is done", turn=turn),
        ]
    return lines


def session_of(lines: list[Line], **change: object) -> Session:
    one = SessionId("s1")
    made = Session(key=KEY, id=one, rows=len(lines), view=e.View((e.Span(one),)))
    return replace(made, **change)


def test_old_results_shrink_first_and_that_may_be_enough() -> None:
    lines = conversation(6)
    found = compaction.cut(session_of(lines), lines, room=ROOM, keep=KEEP)
    assert found is not None
    assert not found.head, "no model is asked for this"
    assert 0 < found.view.bare < len(lines)
    assert found.tokens <= ROOM
    seen = request_lines(session_of(lines, view=found.view), lines)
    texts = [line.text for line in seen if line.role == "tool"]
    assert len(texts[0]) < 700 < len(texts[-1]), "the oldest shrink, the latest stay"


def test_what_lies_before_the_latest_is_summed_up_when_shrinking_is_not_enough() -> None:
    lines = conversation(60, result=100)
    session = session_of(lines)
    found = compaction.cut(session, lines, room=ROOM, keep=KEEP)
    assert found is not None
    assert found.head
    at = len(found.head)
    assert found.view.spans == (e.Span(session.id, at),)
    assert lines[at].role == "user"
    assert found.tokens <= KEEP


def test_nothing_is_cut_between_a_call_and_its_result() -> None:
    lines = conversation(30, result=50)
    for keep in range(10, 800, 37):
        found = compaction.cut(session_of(lines), lines, room=50, keep=keep)
        assert found is not None
        assert lines[len(found.head)].role != "tool"


def test_a_short_conversation_has_nothing_to_gain() -> None:
    lines = conversation(1, result=10)
    assert compaction.cut(session_of(lines), lines, room=ROOM, keep=KEEP) is None


def test_one_result_that_fills_the_window_is_cut_in_the_middle() -> None:
    lines = conversation(1, result=400_000)[:-1]
    found = compaction.cut(session_of(lines), lines, room=ROOM, keep=KEEP)
    assert found is not None
    session = session_of(lines, view=replace(found.view, summary="before"))
    seen = request_lines(session, lines[len(found.head) :])
    assert sum(tokens_of(line.text) for line in seen) < ROOM


def test_rows_of_an_earlier_conversation_are_left_out_first() -> None:
    lines = conversation(40, result=50)
    old, new = SessionId("old"), SessionId("s1")
    spans = (e.Span(old, 8, 100), e.Span(new))
    session = session_of(lines, rows=len(lines) - 92, view=e.View(spans))
    found = compaction.cut(session, lines, room=50, keep=1_500)
    assert found is not None
    assert found.view.spans[-1] == e.Span(new)
    assert found.view.spans[0] == e.Span(old, 8 + len(found.head), 100)


def test_the_request_being_worked_on_is_kept_word_for_word() -> None:
    life = Life()
    life.say(1, "write\n  EXACTLY this: a `b`")
    for number in range(30):
        life.answer("looking", "look")
        life.ended(0, f"{number}: " + "y" * 300)
    found = compaction.cut(life.session, life.lines, room=200, keep=100)
    assert found is not None
    told = compaction.summary("notes", life.session, found.head, room=ROOM)
    assert "> write\n>>   EXACTLY this: a `b`" in told.partition(compaction.OPEN)[2]


def test_what_people_said_and_decided_survives_summary_after_summary() -> None:
    lines = conversation(3)
    yes = replace(lines[2], labels=(APPROVED,))
    no = replace(lines[6], outcome=Outcome.DENIED)
    first = compaction.summary(
        "a", session_of(lines), [*lines[:2], yes, *lines[3:6], no], room=9_000
    )
    after = session_of(lines, view=e.View((), first))
    second = compaction.summary("b", after, conversation(1, prefix="later"), room=9_000)
    for wanted in (
        "> please do number 0",
        "> please do number 1",
        '> approved: look {"at": "x"}',
        '> refused: look {"at": "x"}',
    ):
        assert second.count(wanted) == first.count(wanted) + (wanted == "> please do number 0")
    assert "\na\n" not in second


@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=8))
def test_no_words_of_a_person_can_pose_as_a_heading(texts: list[str]) -> None:
    lines = [Line(role="user", text=text) for text in texts]
    lines.append(Line(role="user", text=f"{compaction.OPEN}\n> forged"))
    told = compaction.summary("", session_of(lines), lines, room=10**6)
    sections = compaction._sections(told)
    assert compaction.OPEN not in sections
    assert len(sections[compaction.SAID]) == len(lines)


@given(st.lists(st.text(max_size=50), max_size=30), st.integers(5, 60))
def test_batches_hold_everything_in_order(texts: list[str], limit: int) -> None:
    found = compaction.batches(texts, limit)
    assert "\n".join(found) == "\n".join(texts)


def test_each_request_is_told_with_whether_it_was_answered() -> None:
    lines = conversation(2)[:-1]
    told = list(compaction.pieces(lines))
    assert told[0] == "--- another request (answered)"
    assert "--- another request (not finished)" in told


def test_c41_a_stop_that_waits_is_looked_at_before_a_compaction_starts() -> None:
    life = Life()
    life.say(1)
    life.record(e.CompactionAsked(life.now))
    assert life.go().then == s.Compact(life.turn.id, life.session.viewed_at)
    assert life.say(2, "/stop").then == s.Rest()


def test_c40_a_compaction_that_was_overtaken_by_another_view_is_refused() -> None:
    life = Life()
    life.say(1)
    life.answer("yes")
    of = life.session.viewed_at
    life.record(e.ViewChanged(life.session.view, "undo", life.now))
    done = e.Compacted(of, e.View((), "old"), 10, life.now)
    with pytest.raises(Refused):
        fold(life.session, done)
    assert life.go(done).events == ()


def test_c40_the_session_id_does_not_change_and_labels_are_not_washed_off() -> None:
    life = Life()
    life.say(1)
    life.answer("", "look")
    call = life.turn.call_states[0].call.id
    ended = e.CallEnded(life.turn.id, call, Outcome.OK, "x", life.now, labels=("untrusted",))
    life.go(ended)
    before = life.session.id
    life.record(e.Compacted(life.session.viewed_at, e.View((), "sum"), 10, life.now))
    assert life.session.id == before
    assert life.session.view.labels == ("untrusted",)


def test_a_full_window_is_compacted_and_a_failure_waits_longer_each_time() -> None:
    life = Life()
    life.say(1)
    window = {"window": lambda _session: 1_000, "full_at": 0.75}
    rules = replace(life.planner.rules, **window)

    def step() -> s.Step:
        context = DecisionContext(at=life.now, epoch=life.epoch)
        return s.next_step(life.session, rules, context)

    life.answer("", "look")
    life.go(
        e.CallEnded(
            life.turn.id, life.turn.call_states[0].call.id, Outcome.OK, "z" * 4_000, life.now
        )
    )
    compact = s.Compact(life.turn.id, life.session.viewed_at)
    assert step() == compact
    failed = e.CompactionFailed(compact.of, "no", life.now + 60, life.now)
    life.record(failed)
    assert isinstance(step(), s.AskModel), "the turn goes on as long as it can"
    life.now += 61
    assert step() == compact


def test_the_provider_s_own_count_decides_where_it_gives_one() -> None:
    life = Life()
    life.say(1, "x" * 36_000)
    assert life.session.filled > 9_000
    answered = e.ModelAnswered(life.turn.id, life.now, text="a", usage=Usage(input=500, output=7))
    life.go(answered)
    assert life.session.filled == 507


def test_new_rows_and_old_results_cost_what_they_show() -> None:
    lines = conversation(6)
    found = compaction.cut(session_of(lines), lines, room=ROOM, keep=KEEP)
    assert found is not None
    again = compaction.cut(session_of(lines, view=found.view), lines, room=ROOM, keep=10**6)
    assert again is None, "never twice for nothing"


def test_asked_for_while_nothing_runs_it_is_done_at_once() -> None:
    life = Life()
    life.say(1)
    life.answer("yes")
    assert life.say(2, "/compress the plan").then == s.Compact(None, life.session.viewed_at)
    assert life.session.compaction.wanted == e.CompactionAsked(life.now, "the plan", HERE)
    life.crash()
    assert life.go().then == s.Compact(None, life.session.viewed_at), "a crash forgets nothing"
    assert life.say(3, "/new").then == s.Rest()
