"""C65: the same call with the same result is noticed, and ends the turn at the fourth time."""

from hypothesis import given
from hypothesis import strategies as st

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.codec import decode_session, encode
from hermes.core.fold import fold_all
from hermes.core.messages import Outcome
from hermes.core.repeats import FAILURES_TOLD, TIMES_MAX
from hermes.core.session import Session
from tests.unit.core.life import Life
from tests.unit.core.strategies import KEY


def begun() -> Life:
    life = Life()
    life.say(1)
    return life


def called(life: Life, tool: str, text: str = "same", outcome: Outcome = Outcome.OK) -> str:
    """The model makes a call that ends like this; return what Hermes remarked."""
    life.answer("", tool)
    call_state = life.turn.call_states[0]
    life.go(e.CallEnded(life.turn.id, call_state.call.id, outcome, text, life.now))
    ended = [event for event in life.events if isinstance(event, e.CallEnded)]
    return ended[-1].remark


def turns_ended(life: Life) -> int:
    return sum(isinstance(event, e.TurnEnded) for event in life.events)


def test_c65_the_second_time_gets_a_note_and_the_fourth_ends_the_turn() -> None:
    life = begun()
    remarks = [called(life, "look") for _ in range(TIMES_MAX - 1)]
    assert [bool(remark) for remark in remarks] == [False, True, True]
    assert turns_ended(life) == 0
    called(life, "look")
    assert turns_ended(life) == 1
    assert "the same call of look 4 times" in life.events[-1].replies[0].text  # type: ignore[attr-defined]


def test_c65_another_result_is_no_repetition() -> None:
    life = begun()
    assert not any(called(life, "look", f"line {n}") for n in range(20))
    assert turns_ended(life) == 0


def test_c65_a_change_in_between_is_a_reason_to_look_again() -> None:
    life = begun()
    for n in range(10):
        assert not called(life, "look", "2 failed")
        assert not called(life, "pay", f"changed {n}")
    assert turns_ended(life) == 0


def test_c65_equal_calls_of_one_answer_are_made_once() -> None:
    life = begun()
    for times in range(1, TIMES_MAX + 1):
        life.answer("", *["look"] * 6)
        for n in range(6):
            life.ended(n, "same")
            if turns_ended(life):
                break
        assert turns_ended(life) == int(times == TIMES_MAX)
    remarks = [event.remark for event in life.events if isinstance(event, e.CallEnded)]
    assert not any(remarks[:6])


def test_c65_two_calls_in_turns_are_a_circle_too() -> None:
    life = begun()
    for _ in range(TIMES_MAX + 1):
        if not turns_ended(life):
            called(life, "look")
        if not turns_ended(life):
            called(life, "pay")
    assert turns_ended(life) == 1


def test_c65_what_goes_on_may_be_looked_at_as_often_as_one_likes() -> None:
    life = begun()
    for _ in range(10):
        life.answer("", "look")
        call = life.turn.call_states[0].call.id
        life.go(e.CallEnded(life.turn.id, call, Outcome.OK, "runs", life.now, pending=True))
    assert turns_ended(life) == 0


def test_c65_every_fifth_failure_in_a_row_of_one_tool_is_told() -> None:
    life = begun()
    told = []
    for n in range(FAILURES_TOLD * 2):
        told.append(bool(called(life, "look", f"no {n}", Outcome.FAILED)))
        called(life, "tidy", f"fine {n}")
    assert [n + 1 for n, each in enumerate(told) if each] == [FAILURES_TOLD, FAILURES_TOLD * 2]
    for n in range(FAILURES_TOLD - 1):
        called(life, "pay", f"no {n}", Outcome.FAILED)
    called(life, "pay", "fine")
    assert not called(life, "pay", "no again", Outcome.FAILED), "a success ends the row"


@given(st.lists(st.tuples(st.sampled_from(["look", "tidy", "pay"]), st.sampled_from("ab"))))
def test_c65_no_turn_makes_a_call_more_often_than_that_and_a_replay_gives_the_same(
    calls: list[tuple[str, str]],
) -> None:
    life = begun()
    for tool, text in calls[:25]:
        if turns_ended(life):
            break
        called(life, tool, text)
    assert fold_all(Session(key=KEY), life.events) == life.session
    assert decode_session(encode(life.session)) == life.session
    turn = life.session.turn
    assert turn is None or all(each.count < TIMES_MAX for each in turn.seen)
    if turn is not None:
        then = life.planner.plan(life.session, (), epoch=life.epoch, reached=False).then
        assert isinstance(then, s.AskModel)
