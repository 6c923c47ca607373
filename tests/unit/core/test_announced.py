"""An answer that announces an act and makes no call is noticed; an answer never is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.announced import announces_act
from tests.unit.core.life import Life

ANNOUNCED = (
    "Let me check the file.",
    "I'll look at the directory first.",
    "I\u2019ll run the tests now.",
    "Sure! I will search for that for you.",
    "Okay, let me take a look at the code:",
    "The config says 8080. Now I'll update the file.",
    "I'm going to create hello.py…",
    "First, I'll start by reading the README.",
    "Understood.\n\nLet me list the files in the folder.",
    "**Let me read the log.**",
    "Let me run it again.",
    "Ich werde jetzt die Datei lesen.",
    "Je vais vérifier le fichier.",
    "Voy a revisar el archivo.",
)
ANSWERS = (
    "",
    "4",
    "It is 4.",
    "Let me know if you need more.",
    "Shall I check the file?",
    "Should I run the tests, or would you rather do that?",
    "I'll check it when you tell me to.",
    "If you like, I'll run the tests.",
    "I'll remind you tomorrow and check the weather then.",
    "I'll look into it every morning from now on.",
    "I'll read it again tomorrow.",
    "I will be here.",
    "I'll keep that in mind.",
    "Let me explain: a list is ordered.",
    "Let me summarise what I found. The file is empty.",
    "I checked the file. It is empty.",
    "You could say “let me check the file”.",
    "I'll list them:\n- a\n- b",
    "I'll write it like this:\n```py\nprint(1)\n```",
    "Then type: let me check the file?",
    "I look forward to it.",
    "I'll get back to you.",
    "Please let me check the file.",
    "Once you have saved it, I'll open it.",
    "> I'll run the tests",
    "I cannot do that.",
    "What shall I do: should I create the file?",
)


@pytest.mark.parametrize("text", ANNOUNCED)
def test_an_announcement_is_noticed(text: str) -> None:
    assert announces_act(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_or_a_question_is_left_alone(text: str) -> None:
    assert not announces_act(text)


@given(st.sampled_from(ANNOUNCED), st.sampled_from(["?", " Is that right?", " Or shall I not?"]))
def test_a_question_to_the_person_is_never_an_announcement(text: str, end: str) -> None:
    assert not announces_act(text + end)


@given(st.sampled_from(ANNOUNCED), st.text(min_size=1, max_size=80).filter(str.strip))
def test_what_comes_behind_an_announcement_decides(text: str, behind: str) -> None:
    """Whatever is appended as a paragraph of its own is judged alone."""
    assert announces_act(f"{text}\n\n{behind.strip()}") == announces_act(behind) or "`" in behind


@given(st.text(max_size=3_000))
def test_any_text_is_judged(text: str) -> None:
    announces_act(text)


def test_a_turn_is_nudged_once_and_the_note_is_stored_nowhere() -> None:
    life = Life()
    life.say(1)
    plan = life.go(e.ModelAnswered(life.turn.id, life.now, text="Let me look.", announces=True))
    assert isinstance(plan.then, s.AskModel)
    assert "you announced an act" in life.request()[-1].note
    assert not any("announced" in line.text for line in life.lines)
    life.go(e.ModelAnswered(life.turn.id, life.now, text="I will look.", announces=True))
    assert life.session.turn is None
    assert life.events[-1].replies[0].text == "I will look."  # type: ignore[attr-defined]


def test_a_nudge_that_gets_no_words_leaves_the_announcement_as_the_answer() -> None:
    life = Life()
    life.say(1)
    life.go(e.ModelAnswered(life.turn.id, life.now, text="Let me look.", announces=True))
    life.go(e.ModelAnswered(life.turn.id, life.now, text=" "))
    assert life.events[-1].replies[0].text == "Let me look."  # type: ignore[attr-defined]
