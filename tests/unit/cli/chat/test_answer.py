"""Which replies answer a message, and which are about something before."""

from msgspec.structs import asdict

from hermes.cli.chat.answer import MessageOutcome, ReplyTracker, is_about
from hermes.core import events as e
from hermes.core.ids import CallId, MessageId, ReplyId, SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Inbound, Person, Reply, ReplyKind, Usage
from hermes.core.projection import TurnRow
from hermes.views.turn_story import StepRow

KEY = SessionKey("agent:main:local:dm:main")
TURN = TurnRow(
    id=TurnId("t2"), key=KEY, session=SessionId("s"), state="answered", attempts=1,
    started_at=1.0, ended_at=2.0, first=4,
)  # fmt: skip


def reply(id_: str, text: str = "text", kind: ReplyKind = "answer") -> Reply:
    address = Address(platform="local", chat="main")
    return Reply(id=ReplyId(id_), session=KEY, address=address, text=text, kind=kind)


def outcome(turn: TurnRow | None = TURN, steps: tuple[StepRow, ...] = ()) -> MessageOutcome:
    return MessageOutcome(
        key=KEY,
        session_id=SessionId("s"),
        turn=turn,
        steps=steps,
        replies=(reply("t2/0", "yes"),),
    )


def test_a_reply_belongs_to_its_turn_or_to_its_message() -> None:
    for id_ in ("t2/0", "t2-1/question", "local#m2/0"):
        assert is_about(reply(id_), "local#m2", TurnId("t2"))
    for id_ in ("t1/0", "t22/0", "s/17", "local#m1/0", "local#m22/0"):
        assert not is_about(reply(id_), "local#m2", TurnId("t2"))
    assert not is_about(reply("None/0"), "local#m2", None)


def tale(*events: e.Event) -> ReplyTracker:
    address = Address(platform="local", chat="main")
    told = ReplyTracker(
        Inbound(
            id=MessageId("m2"),
            account="local",
            session=KEY,
            sender=Person(id="owner"),
            address=address,
            text="text",
            at=1.0,
        )
    )
    told.take(events)
    return told


def test_the_turn_of_a_message_is_the_one_that_took_it() -> None:
    begun = e.TurnStarted(TurnId("a"), ("local#m1", "local#m2"), 1, 1.0)
    joined = e.TurnResumed(TurnId("b"), 2, 1.0, ("local#m2",))
    steered = e.TurnSteered(TurnId("c"), "local#m2", "text", 1.0)
    other = e.TurnStarted(TurnId("x"), ("local#m9",), 1, 1.0)
    for event, turn in ((begun, "a"), (joined, "b"), (steered, "c")):
        assert tale(other, event).turn == turn
    assert tale(other).turn is None


def test_a_tale_is_over_when_its_turn_is() -> None:
    begun = e.TurnStarted(TurnId("t2"), ("local#m2",), 1, 1.0)
    asked = e.QuestionAsked(TurnId("t2"), CallId("t2-1"), reply("t2-1/question"), 1.0)
    granted = e.QuestionAnswered(TurnId("t2"), CallId("t2-1"), True, 1, 1.0)
    other = e.TurnEnded(TurnId("t1"), "answered", 1.0, (reply("t1/0"),))
    last = e.TurnEnded(TurnId("t2"), "answered", 1.0, (reply("t2/0"),))
    assert [tale(*events).over for events in ((), (begun,), (begun, other), (begun, asked))] == [
        False, False, False, True,
    ]  # fmt: skip
    assert not tale(begun, asked, granted).over
    whole = tale(begun, asked, granted, other, last)
    assert whole.over
    assert [each.id for each in whole.replies] == ["t2-1/question", "t2/0"]


def test_a_command_that_sets_a_turn_going_waits_for_its_answer() -> None:
    granted = e.QuestionAnswered(TurnId("t1"), CallId("t1-1"), True, 1, 1.0)
    obeyed = e.CommandRun("local#m2", 1.0)
    told = tale(granted, obeyed)
    assert (told.turn, told.over) == ("t1", False)
    told.take([e.TurnEnded(TurnId("t1"), "answered", 1.0, (reply("t1/0"),))])
    assert told.over
    assert [each.id for each in told.replies] == ["t1/0"]
    plain = tale(e.CommandRun("local#m2", 1.0, (reply("local#m2/0"),)))
    assert (plain.turn, plain.over, len(plain.replies)) == (None, True, 1)


def test_a_script_gets_the_whole_outcome() -> None:
    model = StepRow(kind="model", name="custom:m", state="finished", usage=Usage(input=3))
    tool = StepRow(kind="tool", name="terminal", state="finished")
    shown = outcome(steps=(model, tool)).document([reply("t1/0", "old")])
    assert shown == {
        "session": KEY,
        "session_id": "s",
        "turn": "t2",
        "text": "yes",
        "state": "answered",
        "steps": 2,
        "usage": asdict(Usage(input=3)),
        "model": "custom:m",
        "notices": ["old"],
        "question": None,
    }


def test_a_command_has_no_turn_and_is_done() -> None:
    assert outcome(turn=None).state == "done"
    assert outcome(turn=None).document([])["turn"] is None
