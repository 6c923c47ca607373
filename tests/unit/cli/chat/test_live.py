"""What a person sees on a terminal while a turn runs."""

import asyncio
from collections.abc import Sequence

import pytest

from hermes.cli.chat.live import LiveView
from hermes.core import events as e
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import Call, Effect, Outcome
from hermes.core.signals import CallProgress, Retrying, Signal, TextDelta
from unit.cli.stage import Stage, stage

KEY, T = SessionKey("agent:main:local:dm:main"), TurnId("t")
CALL = Call(id=CallId("t-1"), tool="terminal", arguments='{"command": "ls"}')


class Journal:
    """Only what a follower reads."""

    def __init__(self) -> None:
        self.events: list[e.Event] = []

    async def since(self, key: SessionKey, position: int) -> Sequence[e.Event]:
        return self.events[position:]


class Theatre:
    """A live view over a journal to which a test writes."""

    def __init__(self, console: Stage, *, wanted: bool = True) -> None:
        self.console = console
        self.journal = Journal()
        self.live = LiveView(console, KEY, wanted=wanted)

    def text(self, *words: str) -> None:
        for word in words:
            self.live.emit(Signal(KEY, T, TextDelta(word)))

    def commit(self, *events: e.Event) -> None:
        self.journal.events += events

    async def pause(self) -> None:
        await asyncio.sleep(0.15)


def answer(text: str, *calls: Call) -> e.ModelAnswered:
    return e.ModelAnswered(T, 1.0, text, calls)


async def test_an_answer_is_streamed_once() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        show.text("Hel", "lo ")
        await show.pause()
        assert show.console.stdout.getvalue() == "Hello"
        show.text("world")
        show.commit(answer("Hello world"))
        await show.pause()
    assert show.console.stdout.getvalue() == "Hello world\n"
    assert show.live.said == ["Hello world"]


async def test_steps_that_come_at_once_do_not_run_together() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        show.text("I look.")
        show.commit(answer("I look.", CALL), e.CallStarted(T, CALL.id, Effect.READ, 1, 1.0))
        show.commit(e.CallEnded(T, CALL.id, Outcome.FAILED, "no", 1.0))
        show.text("It is ", "empty.")
        show.commit(answer("It is empty."))
    assert show.console.stdout.getvalue() == "I look.\nIt is empty.\n"
    assert "→ terminal ls" in show.console.stderr.getvalue()
    assert "terminal: failed" in show.console.stderr.getvalue()


async def test_a_retry_voids_what_was_streamed() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        show.text("Half an ans")
        await show.pause()
        show.live.emit(Signal(KEY, T, Retrying("The connection broke.", 1.0)))
        show.text("A whole answer")
        show.commit(answer("A whole answer"))
    assert show.console.stdout.getvalue() == "Half an ans\nA whole answer\n"
    assert "The text above does not count" in show.console.stderr.getvalue()


async def test_a_thought_that_was_shown_as_text_is_withdrawn() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        show.text("Hm, let me")
        await show.pause()
        show.live.emit(Signal(KEY, T, Retrying("", 0.0)))
        show.text("Hello")
        show.commit(answer("Hello"))
    assert show.console.stdout.getvalue() == "Hm, let me\nHello\n"
    assert "(The text above was a thought; the answer follows.)" in show.console.stderr.getvalue()


async def test_an_answer_that_differs_from_its_stream_is_left_to_be_printed() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        show.text("<think>hm</think> Yes")
        await show.pause()
        show.commit(answer("Yes"))
    assert show.live.said == []
    assert show.console.stdout.getvalue().endswith("\n")


async def test_a_turn_from_before_is_announced() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        show.commit(e.TurnResumed(T, 2, 1.0), answer("The old answer"))
    assert show.console.stdout.getvalue() == "The old answer\n"
    assert "Resuming the interrupted turn" in show.console.stderr.getvalue()


async def test_other_sessions_are_not_shown() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        show.live.emit(Signal(SessionKey("agent:main:local:dm:x"), T, TextDelta("secret")))
        await show.pause()
    assert show.console.stdout.getvalue() == ""


async def test_the_running_call_is_named_while_it_runs() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        await show.pause()
        assert "thinking" in show.console.stderr.getvalue()
        show.commit(answer("", CALL), e.CallStarted(T, CALL.id, Effect.READ, 1, 1.0))
        show.live.emit(Signal(KEY, T, CallProgress(CALL.id, "line 1\nline 2\n")))
        await show.pause()
    assert "terminal ls line 2" in show.console.stderr.getvalue()
    assert show.console.stderr.getvalue().endswith("\r\x1b[K")


async def test_a_pipe_sees_nothing_before_the_end() -> None:
    for console, wanted in ((stage(), True), (stage(tty=True), False)):
        show = Theatre(console, wanted=wanted)
        async with show.live.following(show.journal, 0):
            show.text("Hello")
            show.commit(answer("Hello"))
            await asyncio.sleep(0)
        assert console.stdout.getvalue() == ""
        assert console.stderr.getvalue() == ""
        assert show.live.said == []


async def test_control_characters_of_a_model_do_not_reach_the_terminal() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.following(show.journal, 0):
        show.text("a\x1b[2J", "b")
        show.commit(answer("a\x1b[2Jb"))
    assert show.console.stdout.getvalue() == "a␛[2Jb\n"


async def test_the_middle_of_an_answer_is_not_shown() -> None:
    show = Theatre(stage(tty=True))
    show.live.join()
    async with show.live.showing():
        show.live.take([e.TurnResumed(T, 2, 1.0)], fresh=False)
        show.text("end of an answer")
        await show.pause()
        assert show.console.stdout.getvalue() == ""
        show.live.take([answer("The whole end of an answer", CALL)])
        show.text("Next")
        await show.pause()
    assert show.console.stdout.getvalue() == "The whole end of an answer\nNext\n"


async def broken_off(show: Theatre) -> None:
    async with show.live.showing():
        show.text("Half an ans")
        await show.pause()
        raise ConnectionError


async def test_what_was_streamed_before_a_break_is_void() -> None:
    show = Theatre(stage(tty=True))
    with pytest.raises(ConnectionError):
        await broken_off(show)
    show.live.join()
    async with show.live.showing():
        show.live.take([e.TurnResumed(T, 2, 1.0)])
        show.text("A whole answer")
        show.live.take([answer("A whole answer")])
    assert show.console.stdout.getvalue() == "Half an ans\nA whole answer\n"
    assert show.live.said == ["A whole answer"]


async def test_something_else_gets_a_line_of_its_own() -> None:
    show = Theatre(stage(tty=True))
    async with show.live.showing():
        show.text("Half an ans")
        await show.pause()
        show.live.aside()
        show.console.say("A notice.")
        show.live.take([answer("Half an answer")])
    assert show.console.stdout.getvalue() == "Half an ans\nA notice.\nwer\n"
