"""One message in, one answer out: through pipes, terminals, kills and stops."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from journey.cli_program import PATIENCE_S, Done, Program, scripted

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return scripted(tmp_path)


def turns(hermes: Program) -> list[tuple[str, int]]:
    found = hermes.run("turns", "list", "--json").document
    return [(turn["state"], turn["attempts"]) for turn in found]


def until_running(hermes: Program, child: "subprocess.Popen[str]") -> None:
    """Wait until the slow command has started."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and child.poll() is None:
        if list(hermes.home.glob("calls/*/begun")):
            return
        time.sleep(0.05)
    pytest.fail(f"nothing ran: {child.communicate()}")


def test_the_answer_is_on_standard_output_and_nothing_else_is_said(hermes: Program) -> None:
    done = hermes.run("chat", "-q", "hello")
    assert done == type(done)(0, "You said: hello\n", "")
    assert hermes.home.stat().st_mode & 0o777 == 0o700


def test_what_is_piped_in_is_said(hermes: Program) -> None:
    for words in ([], ["chat"], ["chat", "-q", "-"]):
        assert hermes.run(*words, stdin="from a pipe\n").out == "You said: from a pipe\n"
    assert turns(hermes) == [("answered", 1)] * 3


def test_a_script_gets_one_document(hermes: Program) -> None:
    done = hermes.run("chat", "-q", "run echo 12345", "--session", "work", "--json")
    found = done.document
    assert (done.status, done.err) == (0, "")
    assert found["session"] == "agent:main:local:dm:work"
    assert found["state"] == "answered"
    assert "12345" in found["text"]
    assert found["steps"] == 3
    assert found["model"].startswith("scripted:")
    assert found["usage"]["output"] > 0
    again = hermes.run("chat", "-q", "hello", "--session", found["session"], "--json").document
    assert again["session_id"] == found["session_id"]
    assert again["turn"] != found["turn"]


def test_a_turn_that_failed_is_status_1_and_says_why(hermes: Program) -> None:
    done = hermes.run("chat", "-q", "fail")
    assert (done.status, done.out) == (1, "")
    assert "The key was refused." in done.err
    told = hermes.run("chat", "-q", "fail", "--json")
    assert (told.status, told.document["state"]) == (1, "failed")


def test_a_command_is_obeyed(hermes: Program) -> None:
    first = hermes.run("chat", "--session", "main", "-q", "hello", "--json").document
    assert hermes.run("chat", "--session", "main", "-q", "/new").out == "A new conversation.\n"
    assert (
        hermes.run("chat", "--session", "main", "-q", "hello", "--json").document["session_id"]
        != first["session_id"]
    )


def test_pictures_go_along(hermes: Program) -> None:
    (hermes.folder / "a.png").write_bytes(PNG)
    assert hermes.run("chat", "--session", "main", "-q", "look", "--image", "a.png").status == 0
    shown = hermes.run("sessions", "show", "main", "--json").document
    assert shown["messages"][0]["media"][0]["name"] == "a.png"
    (hermes.folder / "b.txt").write_text("text")
    done = hermes.run("chat", "--session", "main", "-q", "look", "--image", "b.txt")
    assert (done.status, done.err) == (
        2,
        "hermes: --image b.txt: it is not a PNG, a JPEG, a GIF or a WebP file\n",
    )


def test_a_chat_begins_a_conversation_of_its_own_unless_told_otherwise(hermes: Program) -> None:
    first, second = (hermes.run("chat", "-q", "hello", "--json").document for _ in range(2))
    assert first["session"] != second["session"]
    more = hermes.run("chat", "-c", "-q", "more", "--json").document
    assert (more["session"], more["session_id"]) == (second["session"], second["session_id"])
    name = first["session"].rpartition(":")[2]
    again = hermes.run("chat", "--session", name, "-q", "again", "--json").document
    assert again["session_id"] == first["session_id"]
    assert hermes.run("chat", "-c", "-q", "last", "--json").document["session"] == first["session"]


@pytest.mark.parametrize(
    "words",
    [["hello"], ["chat", "hello"], ["-q", "hello"], ["-c", "hello"], ["chat", "-q", "hello"]],
    ids=" ".join,
)
def test_a_message_is_said_in_every_way_that_people_try(hermes: Program, words: list[str]) -> None:
    assert hermes.run(*words) == Done(0, "You said: hello\n", "")


def test_words_without_quotes_are_one_message(hermes: Program) -> None:
    assert hermes.run("what", "is", "this").out == "You said: what is this\n"
    assert hermes.run("list of models, please").out == "You said: list of models, please\n"
    assert hermes.run("-c", stdin="from a pipe").out == "You said: from a pipe\n"
    wrong = hermes.run("chat", "-q", "what", "is", "this")
    assert (wrong.status, wrong.out) == (2, "")
    assert "hermes chat -q 'what is this'" in wrong.err


def test_a_file_goes_along_with_the_message(hermes: Program) -> None:
    (hermes.folder / "notes.txt").write_text("buy milk\n")
    (hermes.folder / "plan.bin").write_bytes(PNG)
    done = hermes.run(
        *("chat", "--session", "f", "-q", "sum up", "--file", "notes.txt", "--file", "plan.bin")
    )
    assert done.out == 'You said: sum up\n\n<file name="notes.txt">\nbuy milk\n</file>\n'
    [said, _] = hermes.run("sessions", "show", "f", "--json").document["messages"]
    assert [media["name"] for media in said["media"]] == ["plan.bin"]


def test_a_file_that_cannot_go_along_is_one_line_and_nothing_is_said(hermes: Program) -> None:
    (hermes.folder / "x.bin").write_bytes(b"\x00\x01\xff")
    (hermes.folder / "long.txt").write_text("x" * 100_001)
    for name, why in (
        ("none.txt", "No such file"),
        (".", "Is a directory"),
        ("x.bin", "it is not a text in UTF-8"),
        ("long.txt", "100,001 characters"),
    ):
        done = hermes.run("chat", "-q", "look", "--file", name)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
        assert f"--file {name}: {why}" in done.err
    assert not (hermes.home / "hermes.db").exists()


def test_a_killed_chat_is_taken_up_by_the_next_one(hermes: Program) -> None:
    child = hermes.start("chat", "--session", "main", "-q", "run sleep 1.5; echo forty-two")
    until_running(hermes, child)
    child.kill()
    child.communicate()
    assert turns(hermes) == [("running", 1)]
    done = hermes.run("chat", "--session", "main", "-q", "hello")
    assert done.out.endswith("You said: hello\n")
    assert {state for state, _ in turns(hermes)} == {"answered"}
    shown = hermes.run("sessions", "show", "main", "--json").document["messages"]
    assert [line["text"] for line in shown if line["role"] == "user"][-1] == "hello"
    assert "forty-two" in next(line["text"] for line in shown if line["role"] == "tool")


def test_ctrl_c_stops_the_turn_for_good(hermes: Program) -> None:
    child = hermes.start("chat", "-q", "slow")
    until_running(hermes, child)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, out) == (130, "")
    assert "Stopping the turn" in err
    assert "Traceback" not in err
    assert turns(hermes) == [("stopped", 1)]
    assert hermes.run("chat", "-q", "hello").out == "You said: hello\n"


def test_ctrl_c_at_a_question_is_one_clear_line(hermes: Program) -> None:
    done = hermes.on_terminal("config", "set", "MY_KEY", "-", typed=[("MY_KEY: ", "^C")])
    assert done.status == 130
    assert done.out.splitlines() == ["MY_KEY: ", "hermes: stopped by Ctrl+C"]


def test_a_terminal_sees_the_answer_once_and_the_calls_as_they_run(hermes: Program) -> None:
    done = hermes.on_terminal("chat", "-q", "run echo abc")
    assert done.status == 0
    assert done.out.count("I run it.") == 1
    assert done.out.count("It said: abc") == 1
    assert "→ terminal echo abc" in done.out


def test_ctrl_c_on_a_terminal_stops_the_turn(hermes: Program) -> None:
    done = hermes.on_terminal("chat", "-q", "slow", typed=[("→ terminal sleep", "^C")])
    assert done.status == 130
    assert "Stopped." in done.out
    assert turns(hermes) == [("stopped", 1)]


def test_two_chats_at_once_each_get_their_own_answer(hermes: Program) -> None:
    children = [hermes.start("chat", "--session", "main", "-q", f"wait {n}") for n in range(2)]
    told = [child.communicate(timeout=PATIENCE_S) for child in children]
    assert [out for out, _err in told] == ["Late.\n"] * 2, told
    assert [child.returncode for child in children] == [0, 0]


def test_a_suspended_session_begins_anew_with_the_next_message(hermes: Program) -> None:
    first = hermes.run("chat", "--session", "main", "-q", "hello", "--json").document
    done = hermes.run("sessions", "suspend", "main")
    assert done == type(done)(0, "main: Suspended.\n", "")
    row = hermes.run("sessions", "list", "--json").document[0]
    assert (row["phase"], row["suspended"]) == ("suspended", True)
    again = hermes.run("chat", "--session", "main", "-q", "again")
    assert again.out == "You said: again\n"
    assert "This is a new conversation" in again.err
    assert hermes.run("sessions", "list", "--json").document[0]["id"] != first["session_id"]


def test_a_message_that_is_too_long_is_refused_in_one_line(hermes: Program) -> None:
    done = hermes.run("chat", "-q", "-", stdin="x" * 100_001)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert "longer than 100,000 characters" in done.err


def test_nothing_of_the_log_reaches_the_screen(hermes: Program) -> None:
    hermes.environ["HERMES_LOG"] = "debug"
    assert hermes.run("chat", "-q", "hello").err == ""
    assert (hermes.home / "logs" / "hermes.log").stat().st_mode & 0o777 == 0o600
    hermes.environ["HERMES_LOG"] = "loud"
    assert hermes.run("chat", "-q", "hello").status == 78
