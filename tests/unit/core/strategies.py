"""Random events over a small world, so that they often fit one another and often do not."""

from hypothesis import strategies as st

from hermes.core import events as e
from hermes.core.ids import CallId, MessageId, ReplyId, SessionId, TurnId, session_key
from hermes.core.messages import (
    Address,
    Call,
    Effect,
    Inbound,
    Outcome,
    Person,
    Reply,
    Thought,
    Usage,
)

KEY = session_key("local", "dm", "one")
ADDRESS = Address(platform="local", chat="one")

turns = st.sampled_from([TurnId("t1"), TurnId("t2")])
calls = st.sampled_from([CallId(f"t1-{n}") for n in range(4)] + [CallId("t2-1")])
ats = st.floats(0, 1000)
epochs = st.integers(1, 3)
texts = st.sampled_from(["", " ", "hello", "/stop", "/new", "two\nlines", "é💥"])
sessions = st.sampled_from([SessionId("s1"), SessionId("s2")])


def inbound(number: int, text: str = "hello", at: float = 0.0) -> Inbound:
    return Inbound(
        id=MessageId(str(number)),
        account="local",
        session=KEY,
        sender=Person(id="owner"),
        address=ADDRESS,
        text=text,
        at=at,
    )


inbounds = st.builds(inbound, st.integers(1, 6), texts, ats)
messages = st.integers(1, 6).map(lambda n: f"local#{n}")
replies = st.builds(
    lambda n: Reply(id=ReplyId(f"r{n}"), session=KEY, address=ADDRESS, text="x"),
    st.integers(0, 99),
)
some_replies = st.lists(replies, max_size=1).map(tuple)
tools = st.tuples(
    st.sampled_from(["look", "pay", "tidy"]), st.sampled_from(["", "", "", "not JSON"])
)


@st.composite
def answers(draw: st.DrawFn) -> e.ModelAnswered:
    turn, first = draw(turns), draw(st.integers(1, 3))
    asked = draw(st.lists(tools, max_size=3))
    return e.ModelAnswered(
        turn=turn,
        at=draw(ats),
        text=draw(texts),
        calls=tuple(
            Call(id=CallId(f"{turn}-{first + n}"), tool=tool, fault=fault)
            for n, (tool, fault) in enumerate(asked)
        ),
        thoughts=(Thought(text="hm"),),
        usage=Usage(input=10, output=5),
    )


events = st.one_of(
    st.builds(e.MessageReceived, inbounds, sessions),
    st.builds(e.CommandRun, messages, ats, some_replies),
    st.builds(
        e.TurnStarted, turns, st.lists(messages, max_size=3, unique=True).map(tuple), epochs, ats
    ),
    st.builds(
        e.TurnMarked, turns, st.sampled_from(["restart_timeout", "restart_interrupted"]), ats
    ),
    st.builds(
        e.TurnResumed, turns, epochs, ats, st.lists(messages, max_size=2, unique=True).map(tuple)
    ),
    st.builds(e.TurnSteered, turns, messages, texts, ats),
    answers(),
    st.builds(e.QuestionAsked, turns, calls, replies, ats),
    st.builds(e.QuestionAnswered, turns, calls, st.booleans(), epochs, ats, texts),
    st.builds(e.CallStarted, turns, calls, st.sampled_from(Effect), epochs, ats),
    st.builds(e.CallEnded, turns, calls, st.sampled_from(Outcome), texts, ats),
    st.builds(e.TurnEnded, turns, st.sampled_from(["answered", "failed"]), ats, some_replies),
    st.builds(e.TurnInterrupted, turns, st.sampled_from(["stopped", "reset"]), ats, st.booleans()),
    st.builds(e.SessionSuspended, texts, ats, some_replies),
    st.builds(e.SessionReset, sessions, texts, ats),
    st.builds(
        e.ViewChanged,
        st.builds(
            lambda s, a, b, text: e.View((e.Span(s, a, b), e.Span(s, b)), text),
            sessions,
            st.integers(0, 5),
            st.integers(0, 5),
            texts,
        ),
        texts,
        ats,
    ),
    st.builds(e.FactSet, st.sampled_from(["title", "workdir"]), texts, ats),
)
