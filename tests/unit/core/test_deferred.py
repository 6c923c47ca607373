"""C72: calls that end later, whatever happens to processes in between."""

import pytest
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import steps as s
from hermes.core.child_sessions import address_of_call, result_message
from hermes.core.errors import Refused
from hermes.core.fold import fold
from hermes.core.ids import CallId, ReplyId, SessionId
from hermes.core.messages import (
    Call,
    CallSettlement,
    Inbound,
    Outcome,
    Person,
    Reply,
    TurnOptions,
)
from hermes.core.rules import Ask
from hermes.core.session import Idle, Running, Waiting, speaker
from hermes.core.store import Accepted
from hermes.gateway.call_results import CallResults
from hermes.gateway.plan import EMPTY, GIVEN, NO_ANSWER, TOO_LATE, Plan
from tests.unit.core.life import Life, asked
from tests.unit.core.strategies import inbound


def begun(*tools: str, **more: object) -> Life:
    """A turn whose model wants these calls; reads run side by side."""
    life = Life(**more)  # type: ignore[arg-type]
    life.say(1)
    life.answer("", *tools)
    return life


def defer(life: Life, n: int, until: float = 0.0) -> Plan:
    call = life.turn.call_states[n].call.id
    return life.go(e.CallDeferred(life.turn.id, call, life.now, until, "a child"))


def receive(life: Life, message: Inbound) -> Plan:
    life.record(e.MessageReceived(message, SessionId("s1")))
    return life.go()


def result(life: Life, n: int, text: str = "found", outcome: Outcome = Outcome.OK) -> Inbound:
    call = life.turn.call_states[n].call.id
    settles = CallSettlement(call=call, outcome=outcome)
    return result_message(life.session.key, settles, text, life.now)


def ends(life: Life) -> list[tuple[Outcome, str]]:
    return [(each.outcome, each.text) for each in life.events if isinstance(each, e.CallEnded)]


def test_c72_a_deferred_call_parks_its_turn_until_its_result_arrives() -> None:
    life = begun("look")
    plan = defer(life, 0)
    assert isinstance(plan.then, s.Rest)
    assert isinstance(life.session.phase, Waiting)
    assert isinstance(receive(life, result(life, 0)).then, s.AskModel)
    assert ends(life) == [(Outcome.OK, "found")]
    assert life.session.waiting == ()
    assert [line.text for line in life.request() if line.role == "tool"] == ["found"]


def test_c72_several_calls_wait_at_once_and_end_in_any_order() -> None:
    life = begun("look", "look", "look")
    for n in range(3):
        defer(life, n)
    assert isinstance(receive(life, result(life, 2, "third")).then, s.Rest)
    assert isinstance(receive(life, result(life, 0, "first")).then, s.Rest)
    assert isinstance(receive(life, result(life, 1, "second")).then, s.AskModel)
    results = [line.text for line in life.request() if line.role == "tool"]
    assert results == ["first", "second", "third"], "the model reads them in its own order"


def test_c72_a_process_that_dies_while_a_turn_waits_interrupts_nothing() -> None:
    life = begun("look")
    defer(life, 0)
    plan = life.crash(down_s=10_000)
    assert isinstance(plan.then, s.Rest)
    assert life.session.mark is None
    assert life.turn.runs == 1
    assert isinstance(receive(life, result(life, 0)).then, s.AskModel)
    assert life.turn.epoch == life.epoch, "the process that has the result continues"
    assert "TurnResumed" not in life.kinds()


def test_c72_a_process_that_dies_beside_a_waiting_call_loses_only_its_own() -> None:
    life = begun("look", "look")
    defer(life, 0)
    assert isinstance(life.session.phase, Running), "the second call is at work"
    plan = life.crash()
    assert [launch.call.id for launch in plan.launches] == [life.turn.call_states[1].call.id]
    life.ended(1)
    assert isinstance(receive(life, result(life, 0)).then, s.AskModel)


def test_c72_a_result_that_is_faster_than_the_deferral_waits_for_it() -> None:
    life = begun("look")
    assert isinstance(receive(life, result(life, 0)).then, s.Wait)
    assert len(life.session.waiting) == 1
    assert isinstance(defer(life, 0).then, s.AskModel)
    assert ends(life) == [(Outcome.OK, "found")]


def test_c72_a_second_result_and_one_of_a_stopped_turn_are_dropped() -> None:
    life = begun("look")
    late = result(life, 0)
    defer(life, 0)
    receive(life, late)
    receive(life, replace(late, id=late.id + "-again"))  # type: ignore[arg-type]
    assert ends(life) == [(Outcome.OK, "found")]
    life.say(2, "/stop")
    assert isinstance(life.session.phase, Idle)
    plan = receive(life, replace(late, id=late.id + "-late"))  # type: ignore[arg-type]
    assert isinstance(plan.then, s.Rest)
    assert life.session.waiting == ()
    assert life.kinds()[-1] == "MessageDropped", "it begins no turn"


def test_c72_without_a_result_in_time_the_call_has_failed() -> None:
    life = begun("look")
    defer(life, 0, until=life.now + 60)
    assert life.session.due_at == life.now + 60
    life.now += 59
    assert isinstance(life.go().then, s.Rest)
    life.now += 1
    assert isinstance(life.go().then, s.AskModel)
    assert ends(life) == [(Outcome.FAILED, TOO_LATE)]
    assert life.session.due_at == 0.0


def test_c72_a_call_that_may_not_run_beside_others_waits_for_those_before_it() -> None:
    life = begun("look", "pay")
    assert isinstance(defer(life, 0).then, s.Rest)
    assert life.turn.call_states[1].stage.value == "intended"
    plan = receive(life, result(life, 0))
    assert [launch.call.tool for launch in plan.launches] == ["pay"]


def test_c72_nothing_overtakes_a_deferred_call_that_runs_alone() -> None:
    life = begun("pay", "look")
    assert isinstance(defer(life, 0).then, s.Rest)
    plan = receive(life, result(life, 0))
    assert [launch.call.tool for launch in plan.launches] == ["look"]


def test_c72_several_questions_are_open_at_once_and_answered_by_their_names() -> None:
    life = begun("look", "look", verdict=lambda _session, _call, _moment: Ask("sure?"))
    life.go()
    first, second = life.session.questions
    life.say(2, f"/approve {second.question}")
    assert [asked.question for asked in life.session.questions] == [first.question]
    life.ended(1)
    assert isinstance(life.session.phase, Waiting)
    life.say(3, f"/deny {first.question}")
    assert life.session.questions == ()


def asking(life: Life, n: int) -> Plan:
    """The call asks a person something whose answer is its result."""
    turn, call = life.turn, life.turn.call_states[n].call.id
    step = s.AskPerson(turn.id, life.turn.call_states[n].call, "which?")
    reply = asked(life.session, step, life.now).question
    question = e.QuestionAsked(
        turn.id,
        call,
        reply,
        life.now,
        "q" * 32,
        expires_at=life.now + 60,
        wants_text=True,
        choices=("red", "blue"),
        asked=speaker(life.session, turn).name,
    )
    return life.go(question)


def test_c72_the_next_words_of_the_person_are_the_answer_to_a_question() -> None:
    life = begun("look")
    assert isinstance(asking(life, 0).then, s.Rest)
    assert isinstance(life.crash().then, s.Rest), "the question outlives its process"
    plan = life.say(2, "the red one")
    assert isinstance(plan.then, s.AskModel)
    assert life.session.waiting == ()
    assert [line.text for line in life.request() if line.role == "tool"] == ["the red one"]


def test_c85_a_message_that_was_there_before_the_question_does_not_answer_it() -> None:
    life = begun("tidy")
    life.say(2, "and by the way, water the roses")
    assert isinstance(asking(life, 0).then, s.Rest)
    assert isinstance(life.say(3, "the red one").then, s.AskModel)
    assert [line.text for line in life.request() if line.role == "tool"] == ["the red one"]
    assert [each.text for each in life.session.waiting] == ["and by the way, water the roses"]


def test_c85_only_the_person_who_was_asked_answers_and_never_by_interrupting() -> None:
    life = begun("tidy", busy="interrupt")
    asking(life, 0)
    stranger = replace(inbound(2, "blue!", life.now), sender=Person(id="another"))
    assert isinstance(receive(life, stranger).then, s.Rest)
    assert isinstance(life.session.phase, Waiting)
    assert isinstance(life.say(3, "red").then, s.AskModel)
    assert [line.text for line in life.request() if line.role == "tool"] == ["red"]


def test_c85_a_number_stands_for_its_choice_and_an_empty_message_is_an_answer() -> None:
    for said, read in (("2", "blue"), ("2.", "blue"), ("3", "3"), ("", EMPTY)):
        life = begun("tidy")
        asking(life, 0)
        life.say(2, said)
        assert [line.text for line in life.request() if line.role == "tool"] == [read]


def test_c85_permission_is_no_answer_to_a_question() -> None:
    life = begun("tidy")
    asking(life, 0)
    for n, command in enumerate(("/approve", "/deny", f"/approve {'q' * 32}"), start=2):
        life.say(n, command)
        assert [asked.wants_text for asked in life.session.questions] == [True]
        run = [event for event in life.events if isinstance(event, e.CommandRun)][-1]
        assert run.replies, "it says what to do instead"
    assert isinstance(life.say(9, f"/answer {'q' * 32} 1").then, s.AskModel)
    assert [line.text for line in life.request() if line.role == "tool"] == ["red"]


def test_c85_a_question_that_nobody_answers_is_over_in_time_and_the_turn_goes_on() -> None:
    life = begun("tidy")
    asking(life, 0)
    life.now += 61
    assert isinstance(life.go().then, s.AskModel)
    assert life.lines[-1].text == NO_ANSWER
    assert life.lines[-1].outcome is Outcome.FAILED
    plan = life.say(2, f"/answer {'q' * 32} 1")
    assert isinstance(plan.then, s.AskModel), "a late tap changes nothing"
    assert life.lines[-1].text == NO_ANSWER


def test_c72_a_turn_may_begin_with_calls_that_came_with_its_message() -> None:
    life = Life()
    given = (Call(id=CallId("ignored"), tool="look", arguments='{"n":1}'),)
    told = replace(inbound(1, "report", life.now), options=TurnOptions(calls=given))
    plan = receive(life, told)
    assert [launch.call.arguments for launch in plan.launches] == ['{"n":1}']
    assert life.turn.call_states[0].call.id != "ignored"
    assert isinstance(life.ended(0).then, s.AskModel)
    [answered] = [each for each in life.events if isinstance(each, e.ModelAnswered)]
    assert answered.model == GIVEN


def test_c72_the_model_and_the_tools_of_a_turn_are_part_of_it() -> None:
    life = Life()
    options = TurnOptions(model="other:model", tools=("look",))
    receive(life, replace(inbound(1, "hello", life.now), options=options))
    assert life.turn.options == options
    life.answer("done")
    life.say(2)
    assert life.turn.options == TurnOptions(), "the next turn has the session's own"


def test_c72_a_call_is_deferred_only_after_it_was_started() -> None:
    life = begun("look", "pay")
    pay = life.turn.call_states[1].call.id
    with pytest.raises(Refused):
        fold(life.session, e.CallDeferred(life.turn.id, pay, life.now))


def test_a_result_names_its_call_for_ever() -> None:
    life = begun("look")
    message = result(life, 0, "x" * 200_000)
    assert message.settles == CallSettlement(call=life.turn.call_states[0].call.id)
    assert len(message.text) < 100_000
    assert message.id == life.turn.call_states[0].call.id


async def test_c72_a_relayed_message_and_a_notice_end_no_call() -> None:
    taken: list[Inbound] = []

    async def accept(message: Inbound) -> Accepted:
        taken.append(message)
        return Accepted(key=message.session, position=1, fresh=True)

    channel = CallResults(accept=accept, clock=lambda: 1.0)
    life = begun("look")
    address = address_of_call(life.session.key, life.turn.call_states[0].call.id)
    for name in ("tool#forged/0", f"{life.turn.id}/notice-1"):
        reply = Reply(
            id=ReplyId(name), session=life.session.key, address=address, text="x", kind="notice"
        )
        await channel.send(reply, "x", key="k")
    assert taken == []
    await channel.send(replace(reply, kind="answer"), "done", key="k")
    assert [message.settles is not None for message in taken] == [True]
