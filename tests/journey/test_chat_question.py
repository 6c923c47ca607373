"""An open question: asked at a terminal, reported with exit status 75 without one."""

from pathlib import Path

import pytest

from journey.cli_program import Done, Program, scripted
from journey.test_chat_beside_gateway import Home

RISKY = "run python3 -c 'print(6*7)'"  # needs approval
ASKED = "Allow it? ("


@pytest.fixture
def alone(tmp_path: Path) -> Program:
    return scripted(tmp_path)


def pending(hermes: Program) -> str:
    [row] = hermes.run("approvals", "list", "--json").document
    return str(row["id"])


def names_the_question(done: Done, id_: str) -> bool:
    how = f"hermes approvals answer {id_} approve"
    return "python3 -c 'print(6*7)'" in done.err and how in done.err


def goes_by_the_book(hermes: Program) -> None:
    """Check the same story with and without a gateway: ask, block, answer, continue."""
    first = hermes.run("chat", "-q", RISKY, "--session", "s")
    id_ = pending(hermes)
    assert (first.status, first.out) == (75, "")
    assert names_the_question(first, id_)

    second = hermes.run("chat", "-q", "hello", "--session", "s")
    assert (second.status, second.out) == (75, "")
    assert names_the_question(second, id_)
    assert "Your message is saved" in second.err

    third = hermes.run("chat", "-q", "again", "--session", "s", "--json")
    assert (third.status, third.err) == (75, "")
    assert (third.document["state"], third.document["turn"]) == ("waiting", None)
    question = third.document["question"]
    assert question["id"] == id_
    assert question["answer_with"] == f"hermes approvals answer {id_} approve"

    assert "Did you mean /status?" in hermes.run("chat", "-q", "/statu", "--session", "s").out
    assert hermes.run("approvals", "answer", id_, "approve").status == 0
    last = hermes.run("chat", "-q", "more", "--session", "s")
    assert last.status == 0
    assert last.out.startswith("You said: ")
    assert "more" in last.out


def test_without_a_terminal_a_question_is_status_75_and_says_how_to_answer(alone: Program) -> None:
    goes_by_the_book(alone)


def test_beside_a_gateway_a_question_is_status_75_and_says_how_to_answer(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.served():
        goes_by_the_book(home)


def test_a_script_is_told_that_its_own_turn_waits(alone: Program) -> None:
    done = alone.run("chat", "-q", RISKY, "--session", "s", "--json")
    assert (done.status, done.document["state"]) == (75, "asking")
    assert done.document["question"]["id"] == pending(alone)


def answers_at_the_terminal(hermes: Program) -> None:
    yes = hermes.on_terminal("chat", "-q", RISKY, "--session", "s", typed=[(ASKED, "y\n")])
    assert yes.status == 0
    assert "It said: 42" in yes.out
    no = hermes.on_terminal(
        "chat",
        "-q",
        RISKY,
        "--session",
        "s",
        typed=[(ASKED, "what\n"), (f"what\r\n{ASKED}", "n\n")],
    )
    assert no.status == 0
    assert hermes.run("approvals", "list", "--json").document == []


def asks_about_an_earlier_turn(hermes: Program) -> None:
    assert hermes.run("chat", "-q", RISKY, "--session", "s").status == 75
    done = hermes.on_terminal("chat", "-q", "hello", "--session", "s", typed=[(ASKED, "yes\n")])
    assert done.status == 0
    assert done.out.count("print(6*7)") == 1
    assert "It said: 42" in done.out
    assert "You said: hello" in done.out


def test_at_a_terminal_the_question_is_asked_there(alone: Program) -> None:
    answers_at_the_terminal(alone)
    asks_about_an_earlier_turn(alone)


def test_at_a_terminal_beside_a_gateway_the_question_is_asked_there(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.served():
        answers_at_the_terminal(home)
        asks_about_an_earlier_turn(home)


def test_ctrl_c_at_the_question_leaves_it_open_and_says_how_to_answer(alone: Program) -> None:
    done = alone.on_terminal("chat", "-q", RISKY, "--session", "s", typed=[(ASKED, "^C")])
    assert done.status == 130
    assert f"hermes approvals answer {pending(alone)} approve" in done.out
    assert "Traceback" not in done.out


def test_an_answer_from_somewhere_else_ends_the_asking(alone: Program) -> None:
    def approve() -> None:
        assert alone.run("approvals", "answer", pending(alone), "approve").status == 0

    done = alone.on_terminal("chat", "-q", RISKY, "--session", "s", typed=[(ASKED, approve)])
    assert done.status == 0
    assert "It said: 42" in done.out
