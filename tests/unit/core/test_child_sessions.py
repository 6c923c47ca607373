"""C80 to C82: sessions that do a part of another session's work, and how both ends hear of it."""

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import steps as s
from hermes.core.child_sessions import (
    CALL,
    address_of_call,
    call_of_child,
    child_key,
    result_message,
    stop_message,
)
from hermes.core.ids import CallId, SessionId
from hermes.core.messages import CallSettlement, Inbound, Outcome, Reply, TurnReport, Usage
from hermes.core.people import derived
from hermes.core.projection import commit_of
from hermes.core.rules import ResumeRules
from hermes.core.session import Idle, Waiting
from hermes.gateway.plan import Plan
from tests.unit.core.life import Life
from tests.unit.core.strategies import inbound


def receive(life: Life, message: Inbound) -> Plan:
    life.record(e.MessageReceived(message, SessionId("s1")))
    return life.go()


def waiting(parts: int = 0) -> tuple[Life, CallId]:
    """A turn that waits for so many children."""
    life = Life()
    life.say(1)
    life.answer("", "look")
    [track] = life.turn.call_states
    call = track.call.id
    children = tuple(child_key(call, n) for n in range(1, parts + 1)) or (child_key(call),)
    begun = e.CallStarted(life.turn.id, call, track.effect, life.epoch, life.now, "", children)
    life.record(begun)
    life.go(e.CallDeferred(life.turn.id, call, life.now, parts=parts))
    return life, call


def part(life: Life, call: CallId, n: int, outcome: Outcome = Outcome.OK, tokens: int = 0) -> Plan:
    usage = Usage(input=tokens, output=0)
    report = TurnReport(turn=life.turn.id, outcome=outcome, usage=usage)
    settles = CallSettlement(call=call, outcome=outcome, part=n, report=report)
    return receive(life, result_message(life.session.key, settles, f"part {n}", life.now))


def child() -> Life:
    """A session that works for another one."""
    life = Life()
    there = address_of_call(life.session.key, CallId("t0-1"))
    task = replace(inbound(1, "do it", life.now), origin="parent", address=there, account="parent")
    receive(life, derived(task))
    return life


def said(life: Life, event: e.Event) -> tuple[Reply, ...]:
    return commit_of(life.session, [event]).replies


def test_c80_a_batch_ends_with_its_last_part_and_reads_in_its_own_order() -> None:
    life, call = waiting(parts=3)
    assert isinstance(part(life, call, 3).then, s.Rest)
    assert isinstance(part(life, call, 1, Outcome.FAILED).then, s.Rest)
    assert isinstance(life.crash().then, s.Rest), "what has come is kept"
    assert isinstance(part(life, call, 2, tokens=70).then, s.AskModel)
    [ended] = [event for event in life.events if isinstance(event, e.CallEnded)]
    assert (ended.outcome, ended.text) == (Outcome.OK, "part 1\n\npart 2\n\npart 3")
    assert life.session.waiting == ()
    assert life.turn.tokens == 70, "what children use counts for the turn that waits"


def test_c80_a_batch_of_which_nothing_came_out_has_failed() -> None:
    life, call = waiting(parts=2)
    for n in (1, 2):
        part(life, call, n, Outcome.STOPPED)
    [ended] = [event for event in life.events if isinstance(event, e.CallEnded)]
    assert ended.outcome is Outcome.STOPPED


def test_c81_the_end_of_a_turn_tells_its_children_in_the_same_commit() -> None:
    life, call = waiting(parts=2)
    stop = e.TurnInterrupted(life.turn.id, "stopped", life.now)
    rows = said(life, stop)
    assert [(row.address.platform, row.address.chat) for row in rows] == [
        (CALL, child_key(call, 1)),
        (CALL, child_key(call, 2)),
    ]
    assert {row.kind for row in rows} == {"removal"}


def test_c81_a_child_that_is_told_to_stop_stops_whatever_it_does() -> None:
    life = child()
    receive(life, stop_message(life.session.key, "one", life.now))
    assert isinstance(life.session.phase, Idle)
    assert life.session.waiting == ()
    [ended] = [event for event in life.events if isinstance(event, e.TurnInterrupted)]
    assert ended.why == "parent"


def test_c81_a_child_that_had_not_begun_does_not_begin() -> None:
    life = Life()
    task = replace(inbound(1, "do it", life.now), origin="parent", account="parent")
    life.record(e.MessageReceived(derived(task), SessionId("s1")))
    receive(life, stop_message(life.session.key, "one", life.now))
    assert life.session.waiting == ()
    assert "TurnStarted" not in life.kinds()


def test_c82_a_child_that_is_stopped_says_so_to_the_call_that_waits() -> None:
    life = child()
    [row] = said(life, e.TurnInterrupted(life.turn.id, "stopped", life.now))
    assert row.ends is not None
    assert row.ends.outcome is Outcome.STOPPED
    assert said(life, e.TurnInterrupted(life.turn.id, "parent", life.now)) == ()


def test_c82_a_suspended_child_fails_its_call() -> None:
    life = child()
    life.resume = ResumeRules(attempts_max=1)
    life.crash()
    [parked] = [event for event in life.events if isinstance(event, e.SessionSuspended)]
    [row] = parked.replies
    assert row.ends is not None
    assert row.ends.outcome is Outcome.FAILED


def test_c80_a_child_has_the_name_of_its_call_for_ever() -> None:
    life, call = waiting()
    assert isinstance(life.session.phase, Waiting)
    assert call_of_child(child_key(call)) == (call, 0)
    assert call_of_child(child_key(call, 7)) == (call, 7)
    assert call_of_child(life.session.key) is None
