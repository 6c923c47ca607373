"""The laws of continuity that are decided by the pure core, each by its number.

What a real process must show as well is in tests/crash, tests/simulation and tests/contract.
"""

import pytest

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.codec import decode_session, encode
from hermes.core.errors import Refused
from hermes.core.fold import fold
from hermes.core.messages import Outcome
from hermes.core.rules import Allow, Ask, ResumeRules
from hermes.core.session import Idle, Running, Suspended, Waiting
from hermes.core.transcript import LOST, spoken
from tests.unit.core.life import Life
from tests.unit.core.strict import faults


def test_c10_a_session_without_an_open_turn_is_left_alone() -> None:
    life = Life()
    life.say(1)
    life.answer("hi")
    before = life.session
    assert life.crash().then == s.Rest()
    assert life.session == before


def test_c11_a_crash_marks_the_turn_and_wipes_nothing() -> None:
    life = Life()
    life.say(1)
    rows = list(life.lines)
    life.crash()
    assert life.session.mark is not None
    assert life.session.mark.reason == "restart_interrupted"
    assert life.lines == rows
    assert life.session.id == "s1"


def test_c11_a_drain_mark_is_more_specific_and_is_kept() -> None:
    life = Life()
    life.say(1)
    life.record(e.TurnMarked(life.turn.id, "restart_timeout", life.now))
    life.crash()
    assert life.session.mark is not None
    assert life.session.mark.reason == "restart_timeout"


def test_c11_a_crash_of_the_resumed_run_is_a_new_mark() -> None:
    life = Life()
    life.say(1)
    life.record(e.TurnMarked(life.turn.id, "restart_timeout", life.now))
    life.crash()
    life.crash(down_s=9_000)
    assert life.session.mark is not None
    assert life.session.mark.reason == "restart_interrupted"
    assert life.session.runs == 3, "the second resume was not held back by the first mark's age"


def test_c12_the_age_of_a_mark_is_counted_from_the_mark() -> None:
    life = Life()
    life.say(1)
    life.now += 100_000  # the turn had been running for a day
    life.record(e.TurnMarked(life.turn.id, "shutdown_timeout", life.now))
    assert life.crash(down_s=3_599).then == s.AskModel(life.turn.id, 0)


def test_c13_past_the_window_the_turn_waits_for_the_person_and_stays_the_same() -> None:
    life = Life()
    life.say(1)
    turn = life.turn.id
    life.record(e.TurnMarked(turn, "shutdown_timeout", life.now))
    assert life.crash(down_s=3_601).then == s.Rest()
    plan = life.say(2, "and now?")
    assert plan.then == s.AskModel(turn, 0)
    assert life.session.id == "s1"
    assert [line.text for line in life.lines] == ["hello", "and now?"]


def test_c13_a_window_of_zero_never_closes() -> None:
    life = Life(resume=ResumeRules(freshness_s=0))
    life.say(1)
    life.record(e.TurnMarked(life.turn.id, "shutdown_timeout", life.now))
    assert life.crash(down_s=1e9).then == s.AskModel(life.turn.id, 0)


def test_c13_without_auto_nothing_resumes_by_itself() -> None:
    life = Life(resume=ResumeRules(auto=False))
    life.say(1)
    assert life.crash().then == s.Rest()


def test_c14_the_third_interrupted_run_is_parked_and_the_person_is_told_once() -> None:
    life = Life()
    life.say(1)
    life.crash()
    life.crash()
    assert life.session.runs == 3, "each run is charged before it is dispatched"
    life.crash()
    assert isinstance(life.session.phase, Suspended)
    told = [x for x in life.events if isinstance(x, e.SessionSuspended) for _ in x.replies]
    assert len(told) == 1
    life.crash()
    assert len([x for x in life.events if isinstance(x, e.SessionSuspended)]) == 1


def test_c14_a_finished_answer_resets_the_count() -> None:
    life = Life()
    life.say(1)
    life.crash()
    life.answer("done")
    assert life.session.runs == 0


def test_c14_one_tap_retries_a_parked_turn() -> None:
    life = Life()
    life.say(1)
    for _ in range(3):
        life.crash()
    assert life.say(2, "/retry").then == s.AskModel(life.turn.id, 0)
    assert life.session.runs == 1


def test_c16_a_message_to_a_suspended_session_opens_another_conversation() -> None:
    life = Life()
    life.say(1)
    for _ in range(3):
        life.crash()
    life.say(2, "hello again")
    assert life.session.id != "s1"
    [reset] = [x for x in life.events if isinstance(x, e.SessionReset)]
    assert "interrupted" in reset.replies[0].text
    assert isinstance(life.session.phase, Running)


def test_c16_a_suspended_session_cannot_be_marked_resumable() -> None:
    life = Life()
    life.say(1)
    turn = life.turn.id
    life.say(2, "/suspend")
    with pytest.raises(Refused):
        fold(life.session, e.TurnMarked(turn, "restart_timeout", 1.0))


def test_c17_stop_ends_the_turn_and_keeps_the_conversation() -> None:
    life = Life()
    life.say(1)
    life.answer("", "look")
    life.ended(0)
    life.say(2, "/stop")
    assert life.session.phase == Idle()
    assert life.session.id == "s1"
    assert [line.role for line in life.lines] == ["user", "assistant", "tool"]
    assert life.crash().then == s.Rest(), "a pending resume is cancelled too"


def test_c17_with_on_stop_reset_the_next_message_starts_clean() -> None:
    life = Life(on_stop="reset")
    life.say(1)
    life.say(2, "/stop")
    assert isinstance(life.session.phase, Suspended)
    life.say(3, "something else")
    assert life.session.id != "s1"
    assert isinstance(life.session.phase, Running)
    assert [line.text for line in life.lines][:1] == ["hello"], "the old rows are kept"


def test_c18_the_message_after_a_stop_is_answered() -> None:
    life = Life()
    life.say(1)
    life.say(2, "/stop")
    life.say(3, "/stop")
    assert isinstance(life.say(4, "go on").then, s.AskModel)


def test_c20_a_finished_call_is_never_made_again() -> None:
    life = Life()
    life.say(1)
    life.answer("", "pay", "pay")
    life.ended(0, "paid")
    plan = life.crash()
    assert [launch.call.id for launch in plan.launches] == []
    assert [line.text for line in life.lines if line.role == "tool"] == ["paid", LOST]


def test_c21_a_call_that_was_only_intended_runs_with_the_same_arguments() -> None:
    life = Life()
    life.say(1)
    life.answer("", "pay", "tidy")
    intended = life.turn.call_states[1].call
    life.ended(0)
    life = _before_start(life)
    plan = life.crash()
    assert [launch.call for launch in plan.launches] == [intended]


def _before_start(life: Life) -> Life:
    """The same life, had the process died just before the last commit."""
    older = Life(epoch=life.epoch, now=life.now, numbers=life.numbers)
    older.record(*life.events[:-1])
    return older


def test_c22_a_repeatable_call_that_was_lost_runs_again() -> None:
    for tool in ("look", "tidy"):
        life = Life()
        life.say(1)
        life.answer("", tool)
        plan = life.crash()
        assert [launch.call.tool for launch in plan.launches] == [tool]
        assert not plan.launches[0].recover


def test_c23_an_effect_that_was_lost_is_reported_as_unknown_and_not_run() -> None:
    life = Life()
    life.say(1)
    life.answer("", "pay")
    plan = life.crash()
    assert plan.launches == ()
    assert life.lines[-1].outcome is Outcome.UNKNOWN
    assert "ask the person" in life.lines[-1].text


def test_c24_a_tool_that_can_look_is_asked_what_became_of_the_call() -> None:
    life = Life(recovers=frozenset({"pay"}))
    life.say(1)
    life.answer("", "pay")
    for _ in range(2):
        [launch] = life.crash().launches
        assert launch.recover


def test_c25_calls_of_a_stopped_turn_are_answered_in_the_next_request() -> None:
    life = Life()
    life.say(1)
    life.answer("", "look", "pay")
    life.say(2, "/stop")
    life.say(3, "and now?")
    assert faults(life.request()) == []


def test_c26_a_finished_answer_is_delivered_without_asking_the_model() -> None:
    life = Life()
    life.say(1)
    life.answer("the answer")
    [ended] = [x for x in life.events if isinstance(x, e.TurnEnded)]
    assert ended.replies[0].text == "the answer"
    assert life.crash().then == s.Rest()


def test_c40_a_changed_view_touches_no_row_and_keeps_the_id() -> None:
    life = Life()
    life.say(1)
    life.answer("one")
    life.say(2)
    rows = list(life.lines)
    view = e.View((e.Span(life.session.id, 2),), "Summary of before.")
    life.record(e.ViewChanged(view, "compaction", life.now))
    assert life.lines == rows
    assert life.session.id == "s1"
    assert life.session.rows == 3


def test_c60_a_burst_is_one_turn_in_its_order() -> None:
    life = Life()
    life.say(1, "one")
    life.say(2, "two")
    life.say(3, "three")
    life.answer("first")
    texts = [line.text for line in life.lines if line.role == "user"]
    assert texts == ["one", "two", "three"]
    assert len([x for x in life.events if isinstance(x, e.TurnStarted)]) == 2


def test_c61_a_steer_comes_after_the_results_and_stops_nothing() -> None:
    life = Life()
    life.say(1)
    life.answer("", "look", "pay")
    life.say(2, "/steer in French, please")
    life.ended(0)
    life.ended(1)
    assert [line.role for line in life.request()] == ["user", "assistant", "tool", "tool", "user"]
    assert spoken(life.request()[-1]) == "in French, please"
    assert faults(life.request()) == []


def test_c61_interrupt_mode_stops_the_turn_for_the_new_message() -> None:
    life = Life(busy="interrupt")
    life.say(1, "one")
    first = life.turn.id
    assert isinstance(life.say(2, "two").then, s.AskModel)
    assert life.turn.id != first
    assert faults(life.request()) == []


def test_c63_a_question_outlives_a_restart_and_is_answered_once() -> None:
    life = Life(
        verdict=lambda _session, call, _moment: Ask("Pay?") if call.tool == "pay" else Allow()
    )
    life.say(1)
    life.answer("", "pay")
    assert isinstance(life.session.phase, Waiting)
    life.session = decode_session(encode(life.session))
    assert life.crash().then == s.Rest()
    assert [x.call.tool for x in life.say(2, "/approve").launches] == ["pay"]
    assert life.say(3, "/approve").launches == ()


def test_c63_a_refused_call_is_not_run_and_the_model_is_told() -> None:
    life = Life(verdict=lambda _session, _call, _moment: Ask("Sure?"))
    life.say(1)
    life.answer("", "pay")
    assert life.say(2, "/deny").launches == ()
    assert life.lines[-1].outcome is Outcome.DENIED
