"""Which replies answer a message, and which are about something before."""

from msgspec.structs import asdict

from hermes.cli.answer import Answered, is_about, turn_of
from hermes.core import events as e
from hermes.core.ids import ReplyId, SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Reply, ReplyKind, Usage
from hermes.core.projection import TurnRow
from hermes.core.turn_story import StepRow

KEY = SessionKey("agent:main:local:dm:main")
TURN = TurnRow(
    id=TurnId("t2"), key=KEY, session=SessionId("s"), state="answered", attempts=1,
    started_at=1.0, ended_at=2.0, first=4,
)  # fmt: skip


def reply(id_: str, text: str = "text", kind: ReplyKind = "answer") -> Reply:
    address = Address(platform="local", chat="main")
    return Reply(id=ReplyId(id_), session=KEY, address=address, text=text, kind=kind)


def outcome(turn: TurnRow | None = TURN, steps: tuple[StepRow, ...] = ()) -> Answered:
    return Answered(
        key=KEY,
        session_id=SessionId("s"),
        message="local#m2",
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


def test_the_turn_of_a_message_is_the_one_that_took_it() -> None:
    begun = e.TurnStarted(TurnId("a"), ("local#m1", "local#m2"), 1, 1.0)
    joined = e.TurnResumed(TurnId("b"), 2, 1.0, ("local#m2",))
    steered = e.TurnSteered(TurnId("c"), "local#m2", "text", 1.0)
    other = e.TurnStarted(TurnId("x"), ("local#m9",), 1, 1.0)
    for event, turn in ((begun, "a"), (joined, "b"), (steered, "c")):
        assert turn_of([other, event], "local#m2") == turn
    assert turn_of([other], "local#m2") is None


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
    }


def test_a_command_has_no_turn_and_is_done() -> None:
    assert outcome(turn=None).state == "done"
    assert outcome(turn=None).document([])["turn"] is None
