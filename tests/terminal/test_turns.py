"""Turns in the window: stopped, redirected, asked about, left in the middle and found again."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from journey.cli_program import Program
from terminal.emulator import Emulator
from terminal.stage import MARK, let_go, said, stage, window

pytestmark = pytest.mark.slow
PATIENCE_S = 60.0


@contextmanager
def gateway(program: Program) -> "Iterator[subprocess.Popen[str]]":
    """Running, and ready for windows."""
    child = begun(program)
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()


def begun(program: Program) -> "subprocess.Popen[str]":
    child = program.start("gateway", "run")
    deadline = time.monotonic() + PATIENCE_S
    while not (program.home / "gateway.sock").exists():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return child


def test_killed_in_mid_turn_the_next_window_shows_it_and_it_ends_once(tmp_path: Path) -> None:
    program = stage(tmp_path, HERMES_APPROVALS__MODE="allow")
    with window(program) as seen:
        said(seen, "held")
        seen.until("│ is noted")
        seen.kill()
    with window(program) as seen:
        let_go(tmp_path)
        again = seen.until("It is over.")
        assert f"{MARK} held" in again
        assert "I note it." in again
        assert "Resuming the interrupted turn" in again
        assert seen.settle().count("It is over.") == 1
    assert (tmp_path / "notes").read_text(encoding="utf-8") == "noted\n"


def test_left_in_mid_turn_it_is_put_aside_and_goes_on(tmp_path: Path) -> None:
    program = stage(tmp_path, HERMES_APPROVALS__MODE="allow")
    with window(program, "--session", "work") as seen:
        said(seen, "held")
        seen.until("│ is noted")
        seen.type("\x04")
        assert seen.ended() == 0
        assert "The turn is paused" in seen.text
        assert "hermes --session work" in seen.text
    with window(program, "-c") as seen:
        let_go(tmp_path)
        seen.until("It is over.")
        assert seen.settle().count("It is over.") == 1
    assert (tmp_path / "notes").read_text(encoding="utf-8") == "noted\n"


def test_a_gateway_that_runs_is_used_and_works_on_when_the_window_closes(tmp_path: Path) -> None:
    program = stage(tmp_path, HERMES_APPROVALS__MODE="allow")
    with gateway(program):
        with beside(program) as seen:
            said(seen, "held")
            seen.until("│ is noted")
            seen.type("\x04")
            assert seen.ended() == 0
            assert "The turn continues in the gateway." in seen.text
        with beside(program) as seen:
            let_go(tmp_path)
            assert f"{MARK} held" in seen.until("It is over.")
            assert seen.settle().count("It is over.") == 1


def test_a_gateway_that_is_killed_and_comes_back_in_mid_turn_ends_it_once(tmp_path: Path) -> None:
    program = stage(tmp_path, HERMES_APPROVALS__MODE="allow")
    with gateway(program) as first, beside(program) as seen:
        said(seen, "held")
        seen.until("│ is noted")
        first.send_signal(signal.SIGKILL)
        first.wait()
        seen.until("The gateway stopped.")
        seen.type("said meanwhile\r")
        seen.until("sending said meanwhile")
        (program.home / "gateway.sock").unlink(missing_ok=True)
        with gateway(program):
            seen.until("The gateway is back.")
            let_go(tmp_path)
            whole = seen.until("You said: said meanwhile")
            assert whole.count("It is over.") == 1
    assert (tmp_path / "notes").read_text(encoding="utf-8").count("noted") == 1


def test_one_key_approves_and_one_key_denies(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    with window(stage(tmp_path)) as seen:
        said(seen, "ask")
        card = seen.until("Esc to write instead")
        assert "Run this command?" in card
        assert "rm -rf gone" in card
        assert "1 approval waiting" in seen.until("1 approval waiting")
        time.sleep(1.0)  # a key that is on its way when it comes up does not count
        seen.type("n")
        seen.until("Denied: terminal  rm -rf gone")
        seen.until("It said:")
        assert (tmp_path / "gone").exists()
        said(seen, "ask again")
        seen.until("Esc to write instead", on_screen=True)
        time.sleep(1.0)
        seen.type("x")
        seen.type("y")
        seen.until("Allowed: terminal  rm -rf gone")
        seen.until("exit status 0")
        assert not (tmp_path / "gone").exists()


def test_c85_a_question_of_the_agent_is_answered_by_a_number_or_in_words(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "paint it")
        card = seen.until("or write your answer", on_screen=True)
        assert "Which colour?" in card
        time.sleep(1.0)  # a key that is on its way when it comes up does not count
        seen.type("2")
        seen.until("Your answer: Blue")
        seen.until("It is painted.")
        said(seen, "paint the other one")
        seen.until("or write your answer", on_screen=True)
        time.sleep(1.0)
        seen.type("green, like the door\r")
        seen.until("Your answer: green, like the door")


def test_a_question_that_has_no_room_is_read_in_full_above_its_keys(tmp_path: Path) -> None:
    with window(stage(tmp_path), rows=12) as seen:
        said(seen, "ask")
        seen.until("read it above")
        seen.settle()
        assert "rm -rf gone" in seen.text
        assert "Why: `rm` is not on the list of safe commands" in seen.text
        assert "Esc to write instead" in seen.screen
        time.sleep(0.6)
        seen.type("n")
        seen.until("Denied: terminal  rm -rf gone")


def test_a_question_that_comes_while_a_line_is_written_takes_no_letter_of_it(
    tmp_path: Path,
) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "ask")
        seen.until("Run this command?")
        seen.type("yes, why")
        seen.until("yes, why")
        seen.until("Send or clear your line first")
        assert "Allowed" not in seen.settle()


def test_ctrl_c_stops_the_turn_and_twice_at_an_empty_line_leaves(tmp_path: Path) -> None:
    with window(stage(tmp_path, HERMES_APPROVALS__MODE="allow")) as seen:
        said(seen, "slow")
        seen.until("│ row 3")
        seen.type("\x03")
        seen.until("Stopped.")
        assert "■ terminal" in seen.text
        seen.settle()
        seen.type("\x03")
        seen.until("Ctrl+C again leaves")
        seen.type("\x03")
        assert seen.ended() == 0


def test_typing_while_it_works_queues_steers_or_interrupts_and_shows_which(
    tmp_path: Path,
) -> None:
    with window(stage(tmp_path, HERMES_APPROVALS__MODE="allow")) as seen:
        said(seen, "steps")
        seen.until(f"queue {MARK}")
        said(seen, "next please")
        seen.until("queued next please")
        seen.type("\x14")
        seen.until(f"steer {MARK}")
        said(seen, "be brief")
        seen.until(f"{MARK} be brief  (steered)")
        whole = seen.until("You said: next please")
        assert whole.index("(steered)") < whole.index(f"{MARK} next please")
        said(seen, "slow")
        seen.until("│ row 3")
        seen.type("\x14")
        seen.until(f"interrupt {MARK}")
        said(seen, "stop that")
        whole = seen.until("You said: stop that")
        assert whole.index("■ terminal") < whole.index("You said: stop that")


def test_resume_picks_an_earlier_conversation_by_arrows_and_by_typing(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        for word in ("apples", "pears"):
            said(seen, f"{word} first")
            seen.until(f"You said: {word} first")
            said(seen, "/new")
            seen.until(
                lambda text, w=word: text.count("A new conversation.") >= (w != "apples") + 1
            )
        said(seen, "/resume")
        listed = seen.until("Go back to a conversation", on_screen=True)
        assert "apples first" in listed
        assert "pears first" in listed
        seen.type("appl")
        seen.until(lambda text: "pears first  (" not in text, on_screen=True)
        seen.type("\r")
        seen.until("Back in “apples first”")


def test_plain_mode_says_each_thing_once_and_draws_nothing(tmp_path: Path) -> None:
    program = stage(tmp_path)
    seen = Emulator(program.command("--plain"), program.env(), tmp_path)
    try:
        seen.until("you>")
        seen.type("stream\n")
        seen.until("Hermes: That is all.")
        seen.type("ask\n")
        seen.until("Type y for “Yes”, s for “Yes, for this session”, a for “Always”, n for “No”")
        time.sleep(1.0)
        seen.type("n\n")
        seen.until("Denied: terminal  rm -rf gone")
        seen.until("Hermes: It said:")
        seen.type("/unfold\n")
        seen.until("terminal: denied")
        seen.type("/exit\n")
        assert seen.ended() == 0
    finally:
        seen.close()
    assert b"\x1b" not in seen.raw
    assert seen.text.count("word30") == 1
    assert not re.search(f"[─│⠋✓{MARK}]", seen.text)


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path) -> None:
    program = stage(tmp_path, TERM="dumb")
    seen = Emulator(program.command(), program.env(), tmp_path)
    try:
        seen.until("Plain mode.")
        seen.type("hello\n")
        seen.until("Hermes: You said: hello")
        seen.type("\x04")
        assert seen.ended() == 0
    finally:
        seen.close()
    assert b"\x1b" not in seen.raw


@contextmanager
def beside(program: Program) -> Iterator[Emulator]:
    """A window on the gateway."""
    seen = Emulator(program.command(), program.env(), program.folder)
    try:
        seen.until("gateway")
        yield seen
    finally:
        seen.close()
