"""Every text of every event passes the sink, and so does what is shown while it comes."""

from typing import Any, get_args

import msgspec
import pytest

from hermes.core import events as e
from hermes.core.goals import Goal
from hermes.core.ids import CallId, MessageId, ReplyId, SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Call, Inbound, Outcome, Person, Reply, Thought
from hermes.core.principal import Principal
from hermes.core.signals import CallProgress, Compacting, Glimpse, Retrying, TextDelta, ThoughtDelta
from hermes.secrets.journal import cleaned, veiled
from hermes.secrets.live import Sink
from hermes.secrets.redactor import HIDDEN

SECRET = "s3cret-value-4711"
SAID = f"it is {SECRET}!"
SAFE = f"it is {HIDDEN}!"
TURN, CALL, KEY = TurnId("t"), CallId("t-1"), SessionKey("agent:main:x:dm:1")
WHERE = Address(platform="x", chat="1")
REPLY = Reply(id=ReplyId("r"), session=KEY, address=WHERE, text=SAID, buttons=((SAID, "/yes"),))
INBOUND = Inbound(
    id=MessageId("1"),
    account="x",
    session=KEY,
    sender=Person(id="ann"),
    address=WHERE,
    text=SAID,
    at=1.0,
    instructions=SAID,
)
GOAL = Goal(text=SAID, sender=INBOUND.sender, address=WHERE, principal=Principal(), at=1.0)
VIEW = e.View(summary=SAID)
EVENTS: tuple[e.Event, ...] = (
    e.MessageReceived(INBOUND, SessionId("s")),
    e.CommandRun("x#1", 1.0, (REPLY,)),
    e.TurnMarked(TURN, "restart_timeout", 1.0, (REPLY,)),
    e.TurnSteered(TURN, "x#1", SAID, 1.0),
    e.ModelAnswered(
        turn=TURN,
        at=1.0,
        text=SAID,
        calls=(Call(id=CALL, tool="terminal", arguments=f'{{"command":"{SAID}"}}', fault=SAID),),
        thoughts=(Thought(text=SAID, opaque="as it was"),),
    ),
    e.QuestionAsked(TURN, CALL, REPLY, 1.0),
    e.QuestionAnswered(TURN, CALL, granted=False, epoch=1, at=1.0, text=SAID),
    e.CallEnded(TURN, CALL, Outcome.OK, SAID, 1.0, facts={"cwd": SAID}, diff=SAID, remark=SAID),
    e.TurnEnded(TURN, "failed", 1.0, (REPLY,), SAID),
    e.SessionSuspended(SAID, 1.0, (REPLY,)),
    e.SessionReset(SessionId("s"), SAID, 1.0, replies=(REPLY,)),
    e.Compacted(1, VIEW, 10, 1.0, replies=(REPLY,)),
    e.CompactionFailed(1, SAID, 2.0, 1.0, replies=(REPLY,)),
    e.FactSet("note", SAID, 1.0),
    e.PersonTold(1.0, (REPLY,)),
    e.DraftBegun(TURN, SAID, "41", 1.0),
    e.MessageRelayed("x#1", SAID, 1.0, (REPLY,)),
    e.GoalSet(GOAL, 1.0, (REPLY,)),
    e.GoalPaused(SAID, 1.0, (REPLY,)),
    e.GoalJudged("go_on", 1.0, SAID),
)
# What they hold is a name, a number or made by us of clean events.
WITHOUT_TEXT = {
    *("CallStarted", "CompactionAsked", "DraftShown", "HomeSet", "PromptMade", "RestartAsked"),
    *("TurnInterrupted", "TurnResumed", "TurnStarted", "ViewChanged"),
    *("JobSet", "JobPaused", "JobResumed", "JobRemoved", "JobFinished"),  # the act cleans them
    *("OccurrencesSkipped", "TimerMoved"),
}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_sec_02_no_text_of_an_event_keeps_a_secret(event: e.Event) -> None:
    safe = cleaned(event, Sink([SECRET]))
    text = msgspec.json.encode(safe).decode()
    assert SECRET not in text
    assert text.replace(HIDDEN, SECRET) == msgspec.json.encode(event).decode()
    assert cleaned(event, Sink()) == event


def test_every_event_with_a_text_is_thought_of() -> None:
    kinds = {kind.__name__: kind for kind in get_args(e.Event)}
    known = {type(event).__name__ for event in EVENTS} | WITHOUT_TEXT
    assert kinds.keys() & known == known
    assert {name for name in kinds.keys() - known if _has_text(kinds[name])} == set()


def _has_text(kind: Any) -> bool:
    fields: Any = msgspec.structs.fields(kind)
    return any(field.name in ("text", "replies", "why", "question") for field in fields)


def test_sec_02_glimpses_are_clean_and_whole_but_for_the_last_word() -> None:
    seen: list[Glimpse] = []
    watch = veiled(seen.append, Sink([SECRET]))
    for start in range(0, len(SAID), 3):
        watch(TextDelta(SAID[start : start + 3]))
        watch(ThoughtDelta(SAID[start : start + 3]))
        watch(CallProgress(CALL, SAID[start : start + 3]))
    watch(TextDelta(" And more. "))
    assert (
        "".join(each.text for each in seen if isinstance(each, TextDelta)) == f"{SAFE} And more. "
    )
    assert "".join(each.text for each in seen if isinstance(each, ThoughtDelta)) in SAFE
    assert SECRET[:6] not in "".join(each.text for each in seen if isinstance(each, CallProgress))


def test_a_new_attempt_begins_without_what_was_held_back() -> None:
    seen: list[Glimpse] = []
    watch = veiled(seen.append, Sink([SECRET]))
    watch(TextDelta("one s3cret-"))
    watch(Retrying(f"refused {SECRET}", 0.0))
    watch(TextDelta("two words "))
    watch(Compacting(1, 2))
    assert seen == [
        *(TextDelta("one "), Retrying(f"refused {HIDDEN}", 0.0), TextDelta("two words ")),
        Compacting(1, 2),
    ]
