"""What is shown of a session, from what the engine tells of it."""

from collections.abc import Sequence

from hermes.core import events as e
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Line, Outcome
from hermes.core.signals import (
    CallProgress,
    Glimpse,
    Recorded,
    Retrying,
    Signal,
    TextDelta,
    ThoughtDelta,
)
from hermes.tui.board import REPEATED, RESUMED, REVISED, WITHDRAWN, Board
from hermes.tui.transcript_items import (
    CallSummary,
    HermesText,
    NoticeLine,
    PersonText,
    Prose,
    TranscriptItem,
)
from hermes.views.scene import Scene
from unit.tui.events import (
    KEY,
    TURN,
    answered,
    begun,
    call,
    ended,
    inbound,
    question,
    received,
    reply,
    started,
)


class Watched:
    """A board, and all that it gave to be shown."""

    def __init__(self, scene: Scene | None = None) -> None:
        self.board = Board(clock=lambda: 10.0)
        self.shown: list[TranscriptItem] = list(self.board.open(scene or Scene()))
        self.board.position = scene.head if scene is not None else 0

    def see(self, *events: e.Event) -> None:
        for event in events:
            at = (self.board.position or 0) + 1
            self.glimpse(Recorded((event,), at))

    def glimpse(self, glimpse: Glimpse) -> None:
        self.shown += self.board.hear(Signal(KEY, TURN, glimpse))

    def write(self, *words: str) -> None:
        for word in words:
            self.glimpse(TextDelta(word))

    @property
    def texts(self) -> Sequence[str]:
        return [item.text for item in self.shown if not isinstance(item, CallSummary)]


def test_a_turn_is_shown_in_the_order_in_which_it_happened() -> None:
    seen = Watched()
    seen.see(received("look"), started("m1"), answered("I look.", call("ls")), begun())
    assert [view.about for view in seen.board.calls.running] == ["ls"]
    seen.see(e.CallEnded(TURN, CallId("t1-1"), Outcome.OK, "a\n[exit status 0]", 6.0))
    seen.see(answered("Done."), ended("Done."))
    kinds = [type(item) for item in seen.shown]
    assert kinds == [PersonText, Prose, CallSummary, Prose]
    assert seen.texts == ["look", "I look.", "Done."]
    assert not seen.board.busy


def test_whole_blocks_are_shown_as_soon_as_they_are_and_the_rest_once() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"))
    seen.write("One", " block.\n", "\nThe ne", "xt")
    assert seen.texts == ["x", "One block."]
    assert seen.board.live == "The next"
    seen.see(answered("One block.\n\nThe next one."), ended("One block.\n\nThe next one."))
    assert seen.texts == ["x", "One block.", "The next one."]
    assert seen.board.live == ""


def test_an_answer_that_is_not_what_was_heard_is_shown_in_full() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"))
    seen.write("Wrong.\n\nMo")
    seen.see(answered("Right."))
    assert seen.texts == ["x", "Wrong.", REVISED, "Right."]


def test_a_second_attempt_says_that_the_first_is_void() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"))
    seen.write("Half.\n\n")
    seen.glimpse(Retrying("the line broke", 1.0))
    assert seen.texts[-1] == REPEATED
    assert seen.board.work == "the line broke"
    seen.write("Whole.")
    assert seen.board.live == "Whole."


def test_a_thought_that_was_shown_as_text_is_withdrawn() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"))
    seen.write("Hm, let me see.\n\n")
    seen.glimpse(Retrying("", 0.0))
    assert seen.texts[-1] == WITHDRAWN
    seen.write("Whole.")
    assert seen.board.live == "Whole."


def test_text_behind_an_answer_belongs_to_the_next_one() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"))
    seen.write("One.", "Two")
    seen.see(answered("One.", call("ls")))
    assert seen.board.live == "Two"


def test_an_event_that_comes_twice_is_taken_once() -> None:
    seen = Watched()
    seen.glimpse(Recorded((received("x"), started("m1")), 2))
    seen.glimpse(Recorded((received("x"), started("m1")), 2))
    assert seen.texts == ["x"]


def test_a_message_that_waits_is_shown_when_a_turn_takes_it_in() -> None:
    seen = Watched()
    seen.see(received("first"), started("m1"), received("second", "m2"))
    assert list(seen.board.queue.texts) == ["second"]
    assert seen.texts == ["first"]
    seen.see(answered("ok"), ended("ok"), started("m2"))
    assert list(seen.board.queue.texts) == []
    assert seen.texts == ["first", "ok", "second"]


def test_a_steered_message_and_a_command_are_told_once() -> None:
    seen = Watched()
    seen.see(received("go"), started("m1"), received("/steer left", "m2"))
    seen.see(e.TurnSteered(TURN, "local#m2", "left", 5.0))
    noted = reply("Noted.", "notice", "local#m2/0")
    seen.see(e.CommandRun("local#m2", 5.0, (noted,)))
    assert seen.shown[1:] == [PersonText("left", "steered"), HermesText("Noted.")]
    assert list(seen.board.deliver(noted)) == []


def test_a_question_is_open_until_it_is_answered_wherever_that_was() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"), answered("", call("rm -rf x")), question())
    asked = seen.board.question
    assert asked is not None
    assert asked.says("y") == "/approve Q"
    assert asked.says("a") == "/approve Q always"
    seen.see(e.QuestionAnswered(TURN, CallId("t1-1"), granted=True, epoch=1, at=6.0))
    assert seen.board.question is None
    assert seen.shown[-1] == NoticeLine("Allowed: terminal  rm -rf x", "good")


def test_a_call_that_was_denied_can_be_unfolded() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"), answered("", call("rm -rf x")), question())
    seen.see(e.QuestionAnswered(TURN, CallId("t1-1"), granted=False, epoch=1, at=6.0, text="No."))
    assert [view.outcome for view in seen.board.calls.finished] == [Outcome.DENIED]


def test_a_stopped_turn_shows_what_it_had_said_and_what_was_stopped() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"), answered("", call("sleep 9")), begun())
    seen.write("Half a sen")
    seen.see(e.TurnInterrupted(TURN, "stopped", 7.0))
    assert Prose("Half a sen") in seen.shown
    assert [i.call.outcome for i in seen.shown if isinstance(i, CallSummary)] == [Outcome.STOPPED]
    assert not seen.board.busy


def test_who_opens_it_later_sees_what_was_said_and_the_open_turn_by_its_events() -> None:
    recent = (
        Line(role="user", text="before", turn=TurnId("t0")),
        Line(role="assistant", text="", turn=TurnId("t0"), calls=(call("ls", 7),)),
        Line(role="tool", text="a", turn=TurnId("t0"), call=CallId("t1-7"), outcome=Outcome.OK),
        Line(role="assistant", text="Answered before.", turn=TurnId("t0")),
    )
    board = Board(clock=lambda: 10.0)
    shown = list(board.open(Scene(head=6, since=4, phase="running", recent=recent)))
    assert [type(item) for item in shown] == [PersonText, CallSummary, Prose]
    board.position = 2
    events = (received("now"), received("later", "m2"), started("m1"), answered("Hm.", call("pwd")))
    shown = list(board.take(events, 6))
    assert shown == [PersonText("now"), Prose("Hm.")]
    assert list(board.queue.texts) == ["later"]
    assert board.busy
    assert list(board.deliver(reply("Answered before.", id_="t0/0"))) == []
    assert list(board.deliver(reply("Never seen.", id_="t9/0"))) == [Prose("Never seen.")]


def test_a_turn_that_goes_on_says_so() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"))
    seen.write("Half")
    seen.see(e.TurnMarked(TURN, "restart_interrupted", 5.0))
    assert seen.board.marked
    seen.see(e.TurnResumed(TURN, 2, 6.0))
    assert not seen.board.marked
    assert seen.shown[-1] == NoticeLine(RESUMED)
    assert seen.board.live == ""


def test_nothing_that_is_shown_has_power_over_a_terminal() -> None:
    seen = Watched()
    seen.see(received("a\x1b[2J"), started("m1"))
    seen.write("b\x1b]0;t\x07\n\n", "c\u202etxt")
    seen.glimpse(ThoughtDelta("d\x9b"))
    seen.see(answered("b\x1b]0;t\x07\n\nc\u202etxt", call("ls\\u001b[0m")), begun())
    seen.glimpse(CallProgress(CallId("t1-1"), "e\x1b[31m"))
    views = seen.board.calls.running
    whole = "".join((*seen.texts, seen.board.thinking, views[0].about, views[0].output))
    assert not [char for char in whole if char in "\x1b\x07\x9b\u202e"]


def test_a_failed_turn_and_a_message_of_others_are_marked() -> None:
    seen = Watched()
    seen.see(received("x"), started("m1"))
    seen.see(e.TurnEnded(TURN, "failed", 8.0, (reply("No key.", id_="t1/1"),)))
    assert seen.shown[-2:] == [NoticeLine("The turn failed.", "bad"), Prose("No key.")]
    assert inbound("x").sender.id == "owner"
