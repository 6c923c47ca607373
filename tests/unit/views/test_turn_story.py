"""The story of a turn: each step once, in order, with what became of it."""

from hermes.core import events as e
from hermes.core.ids import CallId, MessageId, ReplyId, SessionId, SessionKey, TurnId
from hermes.core.messages import (
    Address,
    Call,
    Effect,
    Inbound,
    Outcome,
    Person,
    Reply,
    Usage,
)
from hermes.views.turn_story import StepRow, story, total

T, OTHER = TurnId("t"), TurnId("other")
A, B = CallId("t-1"), CallId("t-2")
KEY = SessionKey("agent:main:local:dm:main")
ADDRESS = Address(platform="local", chat="main")


def answered(at: float, *calls: CallId, turn: TurnId = T) -> e.ModelAnswered:
    made = tuple(Call(id=call, tool=f"tool_{call}") for call in calls)
    usage = Usage(input=10, output=2, cached=4)
    return e.ModelAnswered(turn, at, "text", made, usage=usage, model="custom:m")


def started(at: float, call: CallId = A, epoch: int = 1) -> e.CallStarted:
    return e.CallStarted(T, call, Effect.EFFECT, epoch, at)


def ended(at: float, call: CallId = A, outcome: Outcome = Outcome.OK) -> e.CallEnded:
    return e.CallEnded(T, call, outcome, "result", at)


def asked(at: float) -> e.QuestionAsked:
    reply = Reply(id=ReplyId("t-1/question"), session=KEY, address=ADDRESS, text="may I?")
    return e.QuestionAsked(T, A, reply, at)


def steps(*events: e.Event) -> tuple[StepRow, ...]:
    return story((e.TurnStarted(T, ("m",), 1, 1.0), *events))


def test_a_whole_turn_is_told_in_order() -> None:
    told = steps(
        answered(3.0, A, B), started(4.0), ended(6.0), started(6.0, B), ended(7.0, B), answered(9.0)
    )
    assert [(step.kind, step.state) for step in told] == [
        ("model", "finished"),
        ("tool", "finished"),
        ("tool", "finished"),
        ("model", "finished"),
    ]
    assert [(step.started_at, step.ended_at) for step in told] == [(1, 3), (4, 6), (6, 7), (7, 9)]
    assert told[0].name == "custom:m"
    assert told[1].name == "tool_t-1"
    assert told[1].effect is Effect.EFFECT


def test_a_call_goes_from_intended_to_started_to_finished() -> None:
    so_far: list[e.Event] = [answered(2.0, A)]
    assert steps(*so_far)[1].state == "intended"
    so_far.append(started(3.0))
    assert steps(*so_far)[1].state == "started"
    so_far.append(ended(4.0, outcome=Outcome.FAILED))
    assert (steps(*so_far)[1].state, steps(*so_far)[1].outcome) == ("finished", Outcome.FAILED)


def test_a_call_whose_outcome_nobody_knows_is_unknown() -> None:
    assert (
        steps(answered(2.0, A), started(3.0), ended(9.0, outcome=Outcome.UNKNOWN))[1].state
        == "unknown"
    )


def test_a_call_begun_again_after_a_crash_counts_its_starts_and_keeps_its_first_time() -> None:
    told = steps(
        answered(2.0, A),
        started(3.0),
        e.TurnMarked(T, "restart_interrupted", 50.0),
        e.TurnResumed(T, 2, 51.0),
        started(52.0, epoch=2),
        ended(53.0),
        answered(55.0),
    )
    assert (told[1].starts, told[1].started_at, told[1].ended_at) == (2, 3.0, 53.0)
    assert told[2].started_at == 53.0


def test_a_model_asked_again_after_a_resume_began_then() -> None:
    told = steps(
        e.TurnMarked(T, "shutdown_timeout", 5.0), e.TurnResumed(T, 2, 100.0), answered(101.0)
    )
    assert told[0].started_at == 100.0


def test_what_comes_while_a_model_thinks_does_not_move_its_beginning() -> None:
    told = steps(e.TurnSteered(T, "m2", "more", 5.0), answered(7.0))
    assert told[0].started_at == 1.0


def test_a_refused_call_never_started() -> None:
    asked_then = (answered(2.0, A), asked(3.0))
    assert steps(*asked_then)[1].state == "intended"
    told = steps(*asked_then, e.QuestionAnswered(T, A, granted=False, epoch=1, at=9.0))
    assert (told[1].state, told[1].outcome) == ("finished", Outcome.DENIED)
    assert told[1].started_at is None
    assert told[1].effect is None


def test_a_granted_call_goes_on() -> None:
    granted = e.QuestionAnswered(T, A, granted=True, epoch=1, at=9.0)
    told = steps(answered(2.0, A), asked(3.0), granted, started(10.0), ended(11.0))
    assert (told[1].state, told[1].started_at) == ("finished", 10.0)


def test_an_answer_that_is_itself_the_result_finishes_the_call() -> None:
    said = e.QuestionAnswered(T, A, granted=True, epoch=1, at=9.0, text="blue")
    assert steps(answered(2.0, A), asked(3.0), said)[1].outcome is Outcome.OK


def test_a_stopped_turn_leaves_no_call_started() -> None:
    told = steps(answered(2.0, A, B), started(3.0), e.TurnInterrupted(T, "stopped", 4.0))
    assert (told[1].state, told[1].outcome, told[1].ended_at) == ("unknown", Outcome.STOPPED, 4.0)
    assert told[2].state == "intended"


def test_events_of_others_are_not_told() -> None:
    inbound = Inbound(
        id=MessageId("x"), account="a", session=KEY, sender=Person(id="p"), address=ADDRESS,
        text="hi", at=2.0,
    )  # fmt: skip
    told = steps(
        e.MessageReceived(inbound, SessionId("s")),
        answered(3.0),
        e.TurnEnded(T, "answered", 3.0),
        e.SessionReset(SessionId("s2"), "new", 4.0),
        e.TurnStarted(OTHER, ("x",), 1, 5.0),
        answered(6.0, turn=OTHER),
    )
    assert len(told) == 1
    assert story([]) == ()
    assert story([e.FactSet("a", "b", 1.0)]) == ()


def test_usage_is_summed_and_a_cost_only_when_all_are_known() -> None:
    told = steps(answered(2.0), answered(3.0))
    assert total(told) == Usage(input=20, output=4, cached=8)
    priced = StepRow(kind="model", name="m", state="finished", usage=Usage(input=1, cost=0.5))
    assert total([priced, priced]).cost == 1.0
    assert total([priced, *told]).cost is None
    assert total([]) == Usage()
