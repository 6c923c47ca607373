"""The laws of the recovery note: one, only when it is due, and stored nowhere."""

import pytest

from hermes.core import events as e
from hermes.core.messages import Line
from hermes.core.transcript import spoken
from tests.unit.core.life import Life

NOTE = "[Note by Hermes"


def notes(lines: tuple[Line, ...]) -> int:
    return sum(spoken(line).count(NOTE) for line in lines)


def test_c30_a_resumed_request_carries_exactly_one_note_and_no_row_has_it() -> None:
    life = Life()
    life.say(1)
    life.answer("", "look")
    life.crash()
    life.ended(0)
    life.crash()
    assert notes(life.request()) == 1
    assert notes(tuple(life.lines)) == 0
    life.answer("done")
    life.say(2)
    assert notes(life.request()) == 0, "the next turn carries none"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("restart_timeout", "a gateway restart"),
        ("shutdown_timeout", "a gateway shutdown"),
        ("restart_interrupted", "a gateway interruption"),
    ],
)
def test_c31_the_note_says_why(reason: e.MarkReason, words: str) -> None:
    life = Life()
    life.say(1)
    life.record(e.TurnMarked(life.turn.id, reason, life.now))
    life.crash()
    assert words in spoken(life.request()[-1])


def test_c32_with_a_new_message_that_comes_first_without_one_the_task_goes_on() -> None:
    life = Life()
    life.say(1)
    life.crash()
    assert "do not answer with a mere greeting" in spoken(life.request()[-1])
    life.record(e.TurnMarked(life.turn.id, "shutdown_timeout", life.now))
    life.crash(down_s=4_000)
    life.say(2, "what is the weather?")
    assert "answer that message first" in spoken(life.request()[-1])
    assert spoken(life.request()[-1]).endswith("what is the weather?")


def test_c33_results_that_no_model_has_read_get_the_smaller_note_once() -> None:
    life = Life()
    life.say(1)
    life.answer("", "look")
    life.ended(0)
    life.say(2, "/stop")
    life.say(3, "go on")
    assert notes(life.request()) == 1
    assert "before you had read them" in spoken(life.request()[-1])
    life.answer("done")
    life.say(4)
    assert notes(life.request()) == 0, "the same batch never gets a second note"


def test_c33_a_batch_that_reached_the_model_gets_no_note() -> None:
    life = Life()
    life.say(1)
    life.answer("", "look")
    life.ended(0)
    life.record(e.TurnInterrupted(life.turn.id, "stopped", life.now, reached=True))
    life.say(2)
    assert notes(life.request()) == 0


def test_c33_the_bigger_note_replaces_the_smaller() -> None:
    life = Life()
    life.say(1)
    life.answer("", "look")
    life.ended(0)
    life.say(2, "/stop")
    life.say(3)
    life.crash()
    assert notes(life.request()) == 1
    assert "gateway interruption" in spoken(life.request()[-1])


def test_c34_with_nothing_to_resume_the_text_is_unchanged() -> None:
    life = Life()
    life.say(1, "  exactly\tthis \n")
    assert spoken(life.request()[-1]) == "  exactly\tthis \n"


def test_c35_a_resume_is_an_event_and_no_message() -> None:
    life = Life()
    life.say(1)
    life.crash()
    assert life.kinds()[-2:] == ["TurnMarked", "TurnResumed"]
    assert [line.role for line in life.lines] == ["user"]
