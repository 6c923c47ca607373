"""TM-2 and POL-2 in the pure core: what a model has read labels the conversation, for good."""

from typing import cast

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.errors import Refused
from hermes.core.fold import fold
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.messages import PROVENANCE, Inbound, Line, Outcome
from hermes.core.session import Session, ref
from hermes.core.transcript import RELAYED, rows
from tests.unit.core.strategies import KEY, calls, events, inbound, messages, turns
from tests.unit.core.strict import request_lines

LABELS = sorted(PROVENANCE)
some_labels = st.lists(st.sampled_from([*LABELS, "mirrored"]), max_size=2, unique=True).map(tuple)


def said(number: int, labels: tuple[str, ...], before: tuple[str, ...]) -> e.MessageReceived:
    carried = (Line(role="user", text="told", labels=before),) if before else ()
    message = replace(inbound(number), labels=labels, before=carried)
    return e.MessageReceived(message, SessionId("s1"))


labelled_events = st.one_of(
    st.builds(said, st.integers(1, 6), some_labels, some_labels),
    st.builds(e.MessageRelayed, messages, st.just("relayed"), st.just(1.0)),
    st.builds(
        lambda turn, call, labels: e.CallEnded(
            turn, call, Outcome.OK, "result", 1.0, labels=labels
        ),
        turns,
        calls,
        some_labels,
    ),
    st.builds(lambda labels: e.PromptMade("p", 1.0, labels), some_labels),
    events,
)


def taken(session: Session, event: e.Event) -> list[Inbound]:
    match event:
        case e.TurnStarted(messages=names) | e.TurnResumed(messages=names):
            return [each for each in session.waiting if ref(each) in names]
        case e.TurnSteered(message=name) | e.MessageRelayed(message=name):
            return [each for each in session.waiting if ref(each) == name]
        case _:
            return []


def brought(session: Session, event: e.Event) -> set[str]:
    """The labels of all that a model can read from this event on."""
    match event:
        case e.CallEnded(labels=labels) | e.PromptMade(labels=labels):
            return set(labels)
        case _:
            read = taken(session, event)
            own = {label for each in read for label in each.labels}
            return own | {label for i in read for line in i.before for label in line.labels}


STEERED = [
    said(1, (), ()),
    e.TurnStarted(TurnId("t1"), ("local#1",), 1, 0.0),
    said(2, ("untrusted",), ()),
    e.TurnSteered(TurnId("t1"), "local#2", "hello", 0.0),
]
RELAY = [said(1, ("untrusted", "mirrored"), ()), e.MessageRelayed("local#1", "relayed", 1.0)]


@given(st.lists(labelled_events, max_size=40))
@example(cast("list[e.Event]", STEERED))
@example(cast("list[e.Event]", RELAY))
@settings(max_examples=400, deadline=None)
def test_tm_02_no_label_of_anything_that_was_read_is_ever_lost(history: list[e.Event]) -> None:
    session, known = Session(key=KEY), set[str]()
    for event in history:
        try:
            after = fold(session, event)
        except Refused:
            continue
        added = rows(session, event)
        match event:
            case e.ViewChanged(view=view) | e.SessionReset(view=view):
                known = set(view.labels) & PROVENANCE
            case _:
                known |= brought(session, event) & PROVENANCE
        assert set(after.view.labels) & PROVENANCE == known, type(event).__name__
        for line in added:
            assert set(line.labels) & PROVENANCE <= known, "a row knows what the view does not"
            if line.role == "assistant" and RELAYED not in line.labels:
                assert set(line.labels) == known, "an answer is made of all that was read"
        session = after


def test_tm_02_a_summary_is_labelled_by_all_that_it_sums_up() -> None:
    view = e.View(summary="what was said", labels=("untrusted",))
    [line] = request_lines(Session(key=KEY, view=view), [])
    assert line.labels == ("untrusted",)


def test_tm_02_what_is_passed_on_keeps_its_labels_in_a_request() -> None:
    session = fold(Session(key=KEY), RELAY[0])
    [line] = rows(session, RELAY[1])
    [read] = request_lines(fold(session, RELAY[1]), [line])
    assert "untrusted" in read.labels


def test_pol_02_a_call_that_was_steered_into_is_judged_by_the_steering_words() -> None:
    session = Session(key=KEY)
    for event in STEERED:
        session = fold(session, event)
    assert session.view.labels == ("untrusted",)
    assert session.turn is not None
    assert session.turn.words == "hello", "what was passed on is no word of the person's own"


def test_pol_02_the_labels_of_a_call_outlive_its_conversation_being_summed_up() -> None:
    session = fold(Session(key=KEY), said(1, ("untrusted",), ()))
    session = fold(session, e.TurnStarted(TurnId("t1"), ("local#1",), 1, 0.0))
    shorter = e.View((e.Span(SessionId("s1"), 1),), "in short")
    session = fold(session, e.Compacted(session.viewed_at, shorter, 5, 0.0))
    assert (session.view.summary, session.view.labels) == ("in short", ("untrusted",))
    assert CallId("t1-1") not in session.unread
