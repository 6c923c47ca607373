"""The line that is written: pastes, search, keys that answer at once, what was typed ahead."""

import re
import time
from pathlib import Path

import pytest

from terminal.emulator import Emulator
from terminal.stage import MARK, said, stage, window

pytestmark = pytest.mark.slow
ROWS = "\n".join(f"row {n}" for n in range(120))


def line_of(seen: Emulator) -> str:
    """The line that is written, as it stands on the screen."""
    rows = [row for row in seen.screen.split("\n") if MARK in row]
    return rows[-1].partition(MARK)[2].strip() if rows else ""


def test_a_paste_is_one_character_to_the_editor(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        seen.paste(ROWS)
        seen.until("[pasted 120 lines #1]")
        seen.type("\x7f")
        seen.until(lambda _text: line_of(seen) == "")
        seen.paste(ROWS)
        seen.until("[pasted 120 lines #2]")
        seen.type("\x1b[Dlook: ")
        seen.until("look: [pasted 120 lines #2]")
        seen.type("\x17\x19\r")  # the word before is cut and put back
        whole = seen.until("row 119")
        assert "You said: look: row 0" in whole
        seen.until(lambda _text: line_of(seen) == "")
        seen.paste("long " * 400)
        seen.until("[pasted 2,000 characters #3]")


def test_a_paste_that_was_cut_and_put_back_is_sent_whole(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        seen.paste(ROWS)
        seen.until("[pasted 120 lines #1]")
        seen.type("\x15")
        seen.until(lambda _text: line_of(seen) == "")
        said(seen, "between")
        seen.until("You said: between")
        seen.type("\x19")
        seen.until("[pasted 120 lines #1]")
        seen.type("\r")
        seen.until("You said: row 0")
        seen.until("row 119")


def test_a_paste_unfolds_in_the_line(tmp_path: Path) -> None:
    text = "\n".join(f"line {n}" for n in range(9))
    with window(stage(tmp_path), rows=30) as seen:
        seen.type("see ")
        seen.paste(text)
        seen.until("see [pasted 9 lines #1]")
        seen.type("\x0f")
        seen.until(lambda text: "[pasted" not in text and "line 8" in text, on_screen=True)
        seen.type("!\r")
        seen.until("line 8!")
        assert "You said: see line 0" in seen.until("You said: see")


def test_ctrl_r_shows_the_match_and_enter_takes_it_without_sending(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        for text in ("apples are red", "pears are green"):
            said(seen, text)
            seen.until(f"You said: {text}")
        seen.type("half a line")
        seen.type("\x12APPL")
        seen.until(lambda _text: line_of(seen) == "apples are red")
        assert "search: APPL" in seen.screen
        seen.type("\r")
        seen.until(lambda text: "search:" not in text, on_screen=True)
        assert line_of(seen) == "apples are red"
        assert "You said: half" not in seen.settle()
        seen.type("!\r")
        seen.until("You said: apples are red!")


@pytest.mark.parametrize("key", ["\x03", "\x1b", "\x07"])
def test_a_search_is_left_with_the_line_as_it_was(tmp_path: Path, key: str) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "apples are red")
        seen.until("You said: apples are red")
        seen.type("half a line\x12appl")
        seen.until(lambda _text: line_of(seen) == "apples are red")
        seen.type("zz")
        seen.until("no line has: applzz")
        seen.type(key)
        seen.until(lambda text: "applzz" not in text, on_screen=True)
        assert line_of(seen) == "half a line"
        seen.type("\x12\x12appl\x03")
        seen.until(lambda _text: line_of(seen) == "half a line")
        assert "again leaves" not in seen.settle()


def test_escape_answers_at_once_and_alt_keys_still_work(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "hello")
        seen.until("You said: hello")
        took = [60.0]
        while min(took) >= 0.5 and len(took) <= 10:  # the best of a few: the machine is shared
            seen.type("/resume\r")
            seen.until("Esc leaves it", on_screen=True)
            began = time.monotonic()
            seen.type("\x1b")
            seen.until(lambda text: "Esc leaves it" not in text, on_screen=True)
            took.append(time.monotonic() - began)
        assert min(took) < 0.5, took
        seen.type("/ti")
        seen.until("Show the title")
        seen.type("\x1b")
        seen.until(lambda text: "Show the title" not in text, on_screen=True)
        assert line_of(seen) == "/ti"
        seen.type("\x15one\x1b\rtwo")
        seen.until(lambda text: re.search(rf"{MARK} one\n  two", text))


def test_what_is_typed_before_the_window_stands_is_said(tmp_path: Path) -> None:
    program = stage(tmp_path)
    seen = Emulator(program.command(), program.env(), tmp_path)
    try:
        seen.type("first thing\rsecond th")
        seen.until("You said: first thing")
        seen.until(lambda _text: line_of(seen) == "second th")
        seen.type("ing\r")
        seen.until("You said: second thing")
    finally:
        seen.close()


def test_ctrl_c_right_after_enter_stops_the_turn(tmp_path: Path) -> None:
    with window(stage(tmp_path, HERMES_APPROVALS__MODE="allow")) as seen:
        seen.type("slow\r\x03")
        seen.until("Stopped.")
        assert "again leaves" not in seen.settle()
        assert "It is over." not in seen.text
