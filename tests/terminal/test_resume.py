"""Going back to earlier conversations in the window, also of another session."""

import re
from pathlib import Path

import pytest

from terminal.emulator import Emulator
from terminal.stage import MARK, said, stage, window

pytestmark = pytest.mark.slow


def bar(seen: Emulator) -> str:
    return seen.screen.rstrip().split("\n")[-1]


def leave(seen: Emulator) -> None:
    seen.settle()  # what stands on the screen is noted as shown
    seen.type("\x04")
    assert seen.ended() == 0


def tokens(seen: Emulator) -> int:
    """How much of the context window is used, by the status line."""
    found = re.search(r" (\d+)/128k", bar(seen))
    return int(found[1]) if found is not None else 0


def pick(seen: Emulator, words: str) -> None:
    said(seen, "/resume")
    seen.until("Go back to a conversation", on_screen=True)
    seen.type(words)
    seen.until(lambda text: text.count(" messages, ") == 1, on_screen=True)
    seen.type("\r")


def test_resume_shows_the_conversation_of_another_session_and_its_context_use(
    tmp_path: Path,
) -> None:
    program = stage(tmp_path)
    with window(program, "--session", "work") as seen:
        said(seen, "apples " + "and more apples " * 60)
        seen.until("You said: apples")
        seen.until(lambda text: "writing" not in text, on_screen=True)
        said(seen, "/new")
        seen.until("A new conversation.")
        said(seen, "pears only")
        seen.until("You said: pears only")
        leave(seen)
    with window(program, "--session", "home") as seen:
        said(seen, "hello")
        seen.until("You said: hello")
        pick(seen, "appl")
        shown = seen.until("You said: apples")
        assert shown.index("Back in “apples") < shown.index(f"{MARK} apples and more")
        assert "You said: pears only" not in shown
        seen.until(lambda _text: bar(seen).startswith(" work"))
        seen.until(lambda _text: tokens(seen) > 400)
        said(seen, "go on")
        seen.until("You said: go on")
        leave(seen)
    with window(program, "--session", "work") as seen:  # what was brought back is its beginning
        seen.until("You said: apples")
        seen.until("You said: go on")


def test_resume_of_a_session_that_has_begun_another_conversation_shows_the_one_picked(
    tmp_path: Path,
) -> None:
    program = stage(tmp_path)
    with window(program, "--session", "work") as seen:
        said(seen, "plums are blue")
        seen.until("You said: plums are blue")
        said(seen, "/new")
        seen.until("A new conversation.")
        leave(seen)
    with window(program, "--session", "home") as seen:
        said(seen, "hello")
        seen.until("You said: hello")
        pick(seen, "plums")
        seen.until("You said: plums are blue")
        seen.until(lambda _text: bar(seen).startswith(" work"))
        leave(seen)


def test_resume_in_the_same_session_shows_the_messages_again(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "first of all")
        seen.until("You said: first of all")
        said(seen, "/new")
        seen.until("A new conversation.")
        seen.type("\x0c")
        pick(seen, "first")
        seen.until("Back in “first of all”")
        seen.until("You said: first of all", on_screen=True)
