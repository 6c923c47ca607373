"""Events of a session, short to write."""

from hermes.core import events as e
from hermes.core.ids import CallId, MessageId, ReplyId, SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Call, Effect, Inbound, Person, Reply, ReplyKind

KEY = SessionKey("agent:main:local:dm:main")
TURN = TurnId("t1")
HERE = Address(platform="local", chat="main")


def inbound(text: str, id_: str = "m1") -> Inbound:
    return Inbound(
        id=MessageId(id_),
        account="local",
        session=KEY,
        sender=Person(id="owner"),
        address=HERE,
        text=text,
        at=1.0,
    )


def received(text: str, id_: str = "m1") -> e.MessageReceived:
    return e.MessageReceived(inbound(text, id_), SessionId("s1"))


def started(*messages: str) -> e.TurnStarted:
    return e.TurnStarted(TURN, tuple(f"local#{name}" for name in messages), 1, 2.0)


def call(command: str, n: int = 1) -> Call:
    return Call(
        id=CallId(f"t1-{n}"), tool="terminal", arguments=f'{{"command":"{command}","timeout":5}}'
    )


def answered(text: str, *calls: Call) -> e.ModelAnswered:
    return e.ModelAnswered(TURN, 3.0, text, calls)


def begun(n: int = 1) -> e.CallStarted:
    return e.CallStarted(TURN, CallId(f"t1-{n}"), Effect.EFFECT, 1, 4.0)


def reply(text: str, kind: ReplyKind = "answer", id_: str = "t1/0") -> Reply:
    return Reply(id=ReplyId(id_), session=KEY, address=HERE, text=text, kind=kind)


def ended(text: str) -> e.TurnEnded:
    return e.TurnEnded(TURN, "answered", 9.0, (reply(text),))


def question(n: int = 1) -> e.QuestionAsked:
    asked = Reply(
        id=ReplyId("t1/question-1"),
        session=KEY,
        address=HERE,
        text="May I?\n\nrm -rf x",
        kind="question",
        buttons=(("Yes", "/approve Q"), ("Always", "/approve Q always"), ("No", "/deny Q")),
    )
    return e.QuestionAsked(TURN, CallId(f"t1-{n}"), asked, 5.0, "Q")
