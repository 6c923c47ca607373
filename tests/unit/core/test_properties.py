"""The pure core under random events: total, conserving, and always a valid history."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.codec import decode_event, decode_session, encode
from hermes.core.errors import Refused
from hermes.core.fold import fold
from hermes.core.messages import Call, Effect, Line
from hermes.core.projection import commit_of
from hermes.core.rules import Allow, Ask, Busy, DecisionContext, Deny, ResumeRules, Rules, Verdict
from hermes.core.session import Session, ref
from hermes.core.transcript import line_count, rows
from tests.unit.core.strategies import KEY, events, inbound
from tests.unit.core.strict import faults, request_lines

EFFECTS = {"look": Effect.READ, "tidy": Effect.IDEMPOTENT, "pay": Effect.EFFECT}
VERDICTS: dict[str, Verdict] = {"look": Allow(), "tidy": Deny("no"), "pay": Ask("sure?")}
many = st.lists(events, max_size=40)


def effect(call: Call) -> Effect:
    return EFFECTS[call.tool]


rules_ = st.builds(
    lambda busy, auto, freshness, recovers, asks: Rules(
        commands={"/stop": Busy.NOW, "/new": Busy.LATER},
        effect=effect,
        recovers=frozenset(recovers),
        verdict=(lambda _s, call: VERDICTS[call.tool]) if asks else (lambda _s, _c, _m: Allow()),
        resume=ResumeRules(auto=auto, freshness_s=freshness),
        busy=busy,
    ),
    st.sampled_from(["queue", "interrupt", "steer"]),
    st.booleans(),
    st.sampled_from([0.0, 100.0]),
    st.sets(st.sampled_from(["look", "pay"])),
    st.booleans(),
)
moments = st.builds(
    lambda at, epoch: DecisionContext(at=at, epoch=epoch), st.floats(0, 2000), st.integers(1, 4)
)


def lived(history: list[e.Event]) -> tuple[Session, list[e.Event], list[Line]]:
    """Fold what fits; the rest is refused and changes nothing."""
    session, kept, lines = Session(key=KEY), list[e.Event](), list[Line]()
    for event in history:
        try:
            after = fold(session, event)
        except Refused:
            continue
        added = rows(session, event)
        assert len(added) == line_count(session, event)
        lines += added
        kept.append(event)
        session = after
    return session, kept, lines


@given(many)
def test_any_sequence_of_events_folds_or_is_refused(history: list[e.Event]) -> None:
    session, kept, _ = lived(history)
    assert session.position == len(kept)


@given(many, rules_, moments)
def test_next_step_is_total(history: list[e.Event], rules: Rules, context: DecisionContext) -> None:
    session, _, _ = lived(history)
    assert isinstance(s.next_step(session, rules, context), s.Step)


@given(many, rules_, moments)
def test_the_same_question_has_the_same_answer(
    history: list[e.Event], rules: Rules, context: DecisionContext
) -> None:
    session, _, _ = lived(history)
    again = decode_session(encode(session))
    assert again == session
    assert s.next_step(again, rules, context) == s.next_step(session, rules, context)


@given(many, st.integers(0, 40))
def test_adding_an_inbound_never_loses_one(history: list[e.Event], where: int) -> None:
    """Wherever a message arrives, it is waiting, in the transcript, or an obeyed command."""
    late = e.MessageReceived(inbound(77, "late"), e.SessionId("s1"))
    session, kept, lines = lived([*history[:where], late, *history[where:]])
    received = [event.inbound for event in kept if isinstance(event, e.MessageReceived)]
    taken = [
        message
        for event in kept
        if isinstance(event, e.TurnStarted | e.TurnResumed)
        for message in event.messages
    ]
    taken += (x.message for x in kept if isinstance(x, e.CommandRun | e.TurnSteered))
    waiting = [ref(inbound) for inbound in session.waiting]
    assert "local#77" in waiting
    assert set(map(ref, received)) <= set(waiting) | set(taken)
    assert len([line for line in lines if line.role == "user"]) >= sum(
        len(event.messages) for event in kept if isinstance(event, e.TurnStarted | e.TurnResumed)
    )


@settings(max_examples=300)
@given(many)
def test_c25_a_folded_history_is_valid_for_the_strictest_provider(history: list[e.Event]) -> None:
    session, _, lines = lived(history)
    assert faults(request_lines(session, lines)) == []


@given(many)
def test_a_commit_is_what_its_events_say(history: list[e.Event]) -> None:
    _, kept, lines = lived(history)
    if not kept:
        return
    commit = commit_of(Session(key=KEY), kept)
    session, _, _ = lived(kept)
    assert commit.after == session
    assert [row.line for row in commit.rows] == lines
    assert [decode_event(written.body) for written in commit.events] == kept


@given(many)
def test_events_survive_their_encoding(history: list[e.Event]) -> None:
    for event in history:
        assert decode_event(encode(event)) == event
        assert msgspec.json.decode(encode(event))["type"].endswith(".1")
