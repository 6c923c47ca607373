"""What a commit tells the accounts: whose model calls, for what, and which tools were used."""

import pytest

from hermes.core import events as e
from hermes.core.ids import MessageId, SessionId, TurnId, session_key
from hermes.core.messages import Address, Call, Effect, Inbound, Origin, Outcome, Person, Spent
from hermes.core.messages import Usage as Tokens
from hermes.core.projection import Commit, commit_of
from hermes.core.session import Session, call_id

KEY = session_key("telegram", "dm", "1")
TURN = TurnId("t")
TOKENS = Tokens(input=7, output=3)
SEEN = Spent(purpose="vision", model="openai:eye", usage=TOKENS)


def heard(origin: Origin = "person", *, spent: tuple[Spent, ...] = ()) -> Session:
    inbound = Inbound(
        id=MessageId("1"),
        account="bot",
        session=KEY,
        sender=Person(id="ann"),
        address=Address(platform="telegram", chat="1"),
        text="hi",
        at=1.0,
        origin=origin,
        spent=spent,
    )
    return commit_of(Session(key=KEY), (e.MessageReceived(inbound, SessionId("c")),)).after


def started(session: Session) -> Commit:
    return commit_of(session, (e.TurnStarted(TURN, ("bot#1",), 1, 2.0),))


@pytest.mark.parametrize(
    ("origin", "purpose"),
    [
        ("person", "turn"),
        ("boot", "turn"),
        ("webhook", "turn"),
        ("schedule", "schedule"),
        ("parent", "subagent"),
        ("background", "background"),
        ("review", "memory"),
    ],
)
def test_an_answer_is_for_what_its_turn_is_for(origin: Origin, purpose: str) -> None:
    session = started(heard(origin)).after
    answer = e.ModelAnswered(TURN, 3.0, text="x", usage=TOKENS, model="a:b")
    [row] = commit_of(session, (e.FactSet("n", "v", 3.0), answer)).usage
    assert row.spent == Spent(purpose=purpose, model="a:b", usage=TOKENS)
    assert (row.event, row.ordinal, row.session, row.turn) == (2, 0, "c", "t")
    assert (row.platform, row.person, row.at) == ("telegram", "ann", 3.0)


def test_what_a_message_took_is_its_sender_s_and_counts_once() -> None:
    session = heard(spent=(SEEN, SEEN))
    commit = started(session)
    assert [(row.spent, row.ordinal, row.person) for row in commit.usage] == [
        (SEEN, 0, "ann"),
        (SEEN, 1, "ann"),
    ]
    assert {row.turn for row in commit.usage} == {TURN}
    answer = e.ModelAnswered(TURN, 3.0, text="x", usage=TOKENS, model="a:b")
    assert len(commit_of(commit.after, (answer,)).usage) == 1


def test_receiving_a_message_spends_nothing_yet() -> None:
    waiting = heard(spent=(SEEN,)).waiting[0]
    commit = commit_of(Session(key=KEY), (e.MessageReceived(waiting, SessionId("c")),))
    assert commit.usage == ()


def test_a_tool_call_tells_its_tool_its_end_and_what_it_asked_models_for() -> None:
    session = started(heard()).after
    assert session.turn is not None
    call = Call(id=call_id(session.turn, 1), tool="look")
    asked = e.ModelAnswered(TURN, 3.0, calls=(call,), usage=TOKENS, model="a:b")
    session = commit_of(session, (asked,)).after
    ended = e.CallEnded(TURN, call.id, Outcome.FAILED, "no", 5.0, spent=(SEEN,))
    begun = e.CallStarted(TURN, call.id, Effect.READ, 1, 4.0)
    commit = commit_of(session, (begun, ended))
    [used] = commit.calls
    assert (used.event, used.tool, used.outcome, used.at) == (2, "look", Outcome.FAILED, 5.0)
    assert [row.spent for row in commit.usage] == [SEEN]


def test_a_summary_without_a_turn_is_the_chat_s_and_nobody_s() -> None:
    session = heard()
    failed = e.CompactionFailed(session.viewed_at, "x", 9.0, 3.0, spent=(SEEN,))
    [row] = commit_of(session, (failed,)).usage
    assert (row.platform, row.person, row.turn) == ("telegram", "", "")
