"""From committed events to what hooks hear, as values."""

import json
from typing import Any

from hermes.core import events as e
from hermes.core.ids import CallId, ReplyId, SessionId
from hermes.core.messages import Call, Effect, Outcome, Reply, Usage
from hermes.core.session import ref
from hermes.core.signals import Recorded, Signal, TextDelta
from hermes.hooks.occasions import OWN_LANE, TEXT_CHARS_MAX, occasions, value_in
from hermes.hooks.recent import REMEMBERED_MAX, Recent, found_in
from tests.unit.hooks.world import CHAT, KEY, TURN, message

SECRET = "hunter2"


def reply(text: str) -> Reply:
    return Reply(id=ReplyId("r/0"), session=KEY, address=CHAT, text=text)


def told(*events: e.Event, position: int = 9, recent: Recent | None = None) -> list[dict[str, Any]]:
    signal = Signal(KEY, TURN, Recorded(events, position))
    memory = recent or Recent()
    memory.note(signal)
    return [json.loads(value_in(memory.completed(one))) for one in occasions(signal)]


def test_the_first_message_of_a_lane_starts_a_session() -> None:
    first = e.MessageReceived(message("hello"), SessionId("c-1"))
    (start,) = told(first, position=1)
    assert start == {
        "event": "session:start",
        "at": 1.0,
        "session": KEY,
        "turn": "",
        "platform": "telegram",
        "chat": "5",
        "conversation": "c-1",
        "sender": "7",
        "origin": "person",
        "text": "hello",
    }
    assert told(first, position=2) == []


def test_a_turn_has_a_start_steps_and_an_end() -> None:
    inbound, call = message("what is new?"), Call(id=CallId("turn-1-1"), tool="terminal")
    values = told(
        e.MessageReceived(inbound, SessionId("c-1")),
        e.TurnStarted(TURN, (ref(inbound),), 1, 2.0),
        e.ModelAnswered(TURN, 3.0, "I look.", (call,), usage=Usage(input=5, output=2), model="m"),
        e.CallStarted(TURN, call.id, Effect.READ, 1, 3.5),
        e.CallEnded(TURN, call.id, Outcome.OK, "files", 4.0),
        e.ModelAnswered(TURN, 5.0, "Nothing."),
        e.TurnEnded(TURN, "answered", 6.0, (reply("Nothing."),)),
    )
    names = ["turn:start", "turn:step", "turn:step", "turn:step", "turn:end"]
    assert [value["event"] for value in values] == names
    start, answer, ended, _, end = values
    assert (start["text"], start["sender"], start["resumed"]) == ("what is new?", "7", False)
    assert answer["calls"] == [{"id": "turn-1-1", "tool": "terminal"}]
    assert (answer["step"], answer["text"], answer["model"]) == ("answer", "I look.", "m")
    assert answer["tokens"] == {"input": 5, "output": 2}
    assert (ended["step"], ended["tool"], ended["outcome"]) == ("call", "terminal", "ok")
    assert (end["outcome"], end["text"], end["turn"]) == ("answered", "Nothing.", TURN)
    assert all(value["session"] == KEY and value["platform"] == "telegram" for value in values)


def test_a_stop_and_a_resume_are_told_as_what_they_are() -> None:
    start, end = told(
        e.TurnResumed(TURN, 2, 1.0), e.TurnInterrupted(TURN, "stopped", 2.0, reached=False)
    )
    assert (start["event"], start["resumed"]) == ("turn:start", True)
    assert (end["event"], end["outcome"], end["why"]) == ("turn:end", "stopped", "stopped")


def test_a_session_ends_and_begins_again() -> None:
    end, reset = told(
        e.SessionSuspended("three times", 1.0, (reply("I stopped."),)),
        e.SessionReset(SessionId("c-2"), "asked for", 2.0),
    )
    assert (end["event"], end["why"], end["chat"]) == ("session:end", "three times", "5")
    assert (reset["event"], reset["conversation"]) == ("session:reset", "c-2")


def test_a_command_is_told_with_its_words() -> None:
    inbound = message("/title  A  day")
    received = e.MessageReceived(inbound, SessionId("c-1"))
    (command,) = told(received, e.CommandRun(ref(inbound), 2.0, (reply("Done."),)))
    assert (command["command"], command["argument"]) == ("/title", "A  day")
    assert (command["reply"], command["sender"]) == ("Done.", "7")
    assert "text" not in command


def test_positions_count_from_the_last_event_back() -> None:
    events = (e.TurnResumed(TURN, 2, 1.0), answer := e.ModelAnswered(TURN, 2.0), answer)
    found = occasions(Signal(KEY, TURN, Recorded(events, 30)))
    assert [one.position for one in found] == [28, 29, 30]


def test_what_is_no_commit_and_what_hooks_say_is_no_occasion() -> None:
    assert occasions(Signal(KEY, TURN, TextDelta("a"))) == ()
    started = Recorded((e.TurnResumed(TURN, 2, 1.0),), 3)
    assert occasions(Signal(OWN_LANE, TURN, started)) == ()


def test_what_tools_get_and_give_is_not_told() -> None:
    call = Call(id=CallId("turn-1-1"), tool="terminal", arguments=f'{{"command":"{SECRET}"}}')
    values = told(
        e.ModelAnswered(TURN, 3.0, "", (call,)),
        e.CallEnded(TURN, call.id, Outcome.OK, SECRET, 4.0, {"workdir": SECRET}),
    )
    assert len(values) == 2
    assert SECRET not in json.dumps(values)


def test_texts_have_a_limit() -> None:
    inbound = message("a" * 90_000)
    start, end = told(
        e.MessageReceived(inbound, SessionId("c-1")),
        e.TurnStarted(TURN, (ref(inbound),), 1, 2.0),
        e.TurnEnded(TURN, "answered", 6.0, (reply("b" * 90_000), reply("c"))),
    )
    assert len(start["text"]) == len(end["text"]) == TEXT_CHARS_MAX


def test_words_that_are_not_remembered_are_found_in_the_journal() -> None:
    inbound = message("hello")
    signal = Signal(KEY, TURN, Recorded((e.TurnStarted(TURN, (ref(inbound),), 1, 2.0),), 3))
    (start,) = (Recent().completed(one) for one in occasions(signal))
    assert start.messages == (ref(inbound),)
    found = found_in((e.MessageReceived(inbound, SessionId("c-1")), e.FactSet("a", "b", 1)), start)
    assert found.payload["text"] == "hello"
    assert found.address == CHAT


def test_memory_has_a_limit() -> None:
    recent = Recent()
    for n in range(REMEMBERED_MAX + 1):
        told(e.MessageReceived(message("hi", n), SessionId("c")), recent=recent)
    old, new = (
        told(e.TurnStarted(TURN, (f"telegram#{n}",), 1, 2.0), recent=recent)[0]
        for n in (0, REMEMBERED_MAX)
    )
    assert "text" not in old
    assert new["text"] == "hi"
