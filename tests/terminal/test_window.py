"""What a person sees who talks in the window: streaming, editing, completion, calls, the bar."""

import re
from pathlib import Path

import pytest

from terminal.emulator import Emulator
from terminal.stage import MARK, said, stage, window

pytestmark = pytest.mark.slow


def test_an_answer_streams_and_stays_in_the_scrollback(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "stream it")
        early = seen.until("word3")
        assert "word30" not in early
        assert "writing" in seen.until("writing")
        whole = seen.until("That is all.")
        assert f"{MARK} stream it" in whole
        assert whole.count("word30") == 1
        seen.until(lambda text: "writing" not in text)
        assert seen.settle().count("That is all.") == 1


def test_nothing_is_pushed_out_of_a_window_that_is_not_full(tmp_path: Path) -> None:
    with window(stage(tmp_path), rows=60, lag_s=0.3) as seen:  # it answers late, as over SSH
        for text in ("markdown", "ask", "hello"):
            said(seen, text)
            seen.settle()
        assert "This is Hermes" in seen.screen.split("\n")[0]
        assert "Run this command?" in seen.screen


def test_markdown_is_drawn_and_code_is_coloured(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "markdown please")
        seen.until("The end.")
        seen.settle()
        text = seen.screen
        assert "**" not in text
        assert "```" not in text
        assert "# Title" not in text
        assert "- one" in text
        row = next(n for n, line in enumerate(text.split("\n")) if line.startswith("def twice"))
        colours = {cell.fg for cell in seen.cells[row][:13]}
        assert len(colours) > 1


def test_what_looks_like_a_tag_is_shown_and_lines_stay_lines(tmp_path: Path) -> None:
    shown = (
        "Use the <title> tag inside <head>, or Vec<String> &amp; more.",
        "Roses are red,\n  violets are blue.",
        "7. seven\n8. eight",
        "2*3*4",
        "That is <all>.",
    )
    program = stage(tmp_path)
    with window(program) as seen:
        said(seen, "tags please")
        seen.until("That is <all>.")
        seen.settle()
        for text in (*shown, "<i>"):
            assert text in seen.text
    plain = Emulator(program.command("--plain"), program.env(), tmp_path)
    try:
        plain.until("you>")
        plain.type("tags again\n")
        plain.until("That is <all>.")
        for text in shown:
            assert text in plain.text
    finally:
        plain.close()
    quick = Emulator(program.command("chat", "-q", "tags"), program.env(), tmp_path)
    try:
        assert quick.ended() == 0
        for text in shown:
            assert text in quick.text
    finally:
        quick.close()


def test_a_line_may_have_several_lines(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        seen.type("first\x1b\rsecond\\\rthird\nfourth")
        written = seen.until("fourth")
        assert re.search(rf"{MARK} first\n  second\n  third\n  fourth", written)
        seen.type("\r")
        answered = seen.until("You said:")
        assert re.search(r"You said: first", answered)
        assert seen.settle().count("fourth") == 2


def test_commands_and_files_are_completed_with_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "notes-of-may.txt").write_text("x", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "notes-hidden").write_text("x", encoding="utf-8")
    with window(stage(tmp_path)) as seen:
        seen.type("/ti")
        assert "Show the title of this conversation" in seen.until("Show the title")
        seen.type("\t")
        seen.until(f"{MARK} /title")
        seen.type("\x15@notes")
        menu = seen.until("notes-of-may.txt")
        assert "hidden" not in menu
        seen.type("\t")
        seen.until("@notes-of-may.txt")
        seen.type(" is read\r")
        seen.until("You said: @notes-of-may.txt is read")


def test_what_was_written_is_there_in_the_next_window_but_no_keys(tmp_path: Path) -> None:
    program = stage(tmp_path)
    with window(program) as seen:
        said(seen, "remember this line")
        seen.until("You said: remember this line")
        said(seen, "my key is sk-" + "a1" * 20)
        seen.until("You said: my key")
        seen.type("\x04")
        assert seen.ended() == 0
    history = program.home / "history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "sk-a1" not in history.read_text(encoding="utf-8")
    with window(program, "--session", "other") as seen:
        seen.type("\x1b[A")
        seen.until(f"{MARK} remember this line")


def test_a_call_is_a_live_line_that_unfolds(tmp_path: Path) -> None:
    with window(stage(tmp_path, HERMES_APPROVALS__MODE="allow")) as seen:
        said(seen, "once")
        live = seen.until("│ is noted")
        assert re.search(r"terminal echo noted >> notes; echo is noted; sleep 6 +\d", live)
        seen.type("\x0f")
        done = seen.until("It is over.")
        assert re.search(r"✓ terminal echo noted >> notes", done)
        seen.until(lambda text: "│" not in text)
        seen.type("\x0f")
        panel = seen.until("^O folds it", on_screen=True)
        assert "terminal: exit 0, 6" in panel
        assert "$ echo noted >> notes; echo is noted; sleep 6" in panel
        seen.type("\x1b")
        seen.until(lambda text: "^O folds it" not in text, on_screen=True)


def test_everything_fits_into_80_columns_and_into_40(tmp_path: Path) -> None:
    program = stage(tmp_path, HERMES_GATEWAY__BUSY="steer")
    for columns in (80, 40):
        with window(program, columns=columns) as seen:
            seen.type("wide " * 30 + "\r")
            seen.until("You said: wide")
            bar = seen.settle().rstrip().split("\n")[-1]
            assert bar.startswith(" main")
            assert "%" in bar
            seen.type("\x04")
            assert seen.ended() == 0


def test_without_colours_there_are_none(tmp_path: Path) -> None:
    with window(stage(tmp_path, NO_COLOR="1")) as seen:
        said(seen, "markdown")
        seen.until("The end.")
        seen.settle()
    codes = re.findall(rb"\x1b\[([0-9;]*)m", seen.raw)
    numbers = {int(n) for code in codes for n in code.split(b";") if n}
    assert not [n for n in numbers if 30 <= n <= 49 or 90 <= n <= 107], numbers


def test_what_a_model_writes_has_no_power_over_the_terminal(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "evil")
        seen.until("after")
        seen.settle()
        assert f"{MARK} evil" in seen.text
        assert b"\x1b]0;title" not in seen.raw
        assert b"\x1b[2Jfore" not in seen.raw


def test_a_failed_turn_says_why(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        said(seen, "fail")
        seen.until("The key was refused.")
        seen.until("The turn failed.")


def test_the_skin_changes_at_once_and_for_good(tmp_path: Path) -> None:
    program = stage(tmp_path)
    with window(program) as seen:
        said(seen, "/skin")
        seen.until("contrast  strong colours")
        seen.settle()
        before = {cell.bg for cell in seen.cells[_bar(seen.screen)]}
        said(seen, "/skin light")
        seen.until("The skin is light now")
        seen.settle()
        assert {cell.bg for cell in seen.cells[_bar(seen.screen)]} != before
    assert program.run("config", "get", "display.skin").out == "light\n"


def test_a_terminal_with_a_light_background_gets_the_light_skin(tmp_path: Path) -> None:
    shades = []
    for background in ("0;15", "15;0"):
        with window(stage(tmp_path, COLORFGBG=background)) as seen:
            seen.settle()
            shades.append({cell.bg for cell in seen.cells[_bar(seen.screen)]})
    assert shades[0] != shades[1]


def test_a_long_paste_is_a_mark_in_the_line_and_is_sent_whole(tmp_path: Path) -> None:
    with window(stage(tmp_path)) as seen:
        seen.paste("\n".join(f"row {n}" for n in range(120)))
        seen.until(f"{MARK} [pasted 120 lines #1]")
        seen.type(" that is it\r")
        seen.until("row 119 that is it")
        assert "more lines" in seen.text


def test_a_picture_that_is_dropped_on_the_window_goes_along(tmp_path: Path) -> None:
    picture = tmp_path / "a picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    with window(stage(tmp_path)) as seen:
        seen.paste(f"'{picture}'")
        seen.until("[image #1 a picture.png]")
        seen.type("what is it?\r")
        seen.until(lambda text: "You said:" in text and text.count("a picture.png]") >= 2)


def test_a_window_that_cannot_be_opened_says_why_in_one_line(tmp_path: Path) -> None:
    cases = (
        ({"HERMES_MODEL__PROVIDER": "nobody"}, (), 78, "there is no provider"),
        ({}, ("--session", ""), 2, "a session's name has"),
    )
    for environ, words, status, why in cases:
        program = stage(tmp_path, **environ)
        seen = Emulator(program.command(*words), program.env(), tmp_path)
        try:
            assert seen.ended() == status
            assert why in seen.text
        finally:
            seen.close()


def test_a_pipe_gets_no_window(tmp_path: Path) -> None:
    program = stage(tmp_path)
    done = program.run("-c")
    assert (done.status, done.out) == (2, "")
    assert "hermes chat -q" in done.err
    assert program.run(stdin="hello").out == "You said: hello\n"


def _bar(screen: str) -> int:
    rows = screen.split("\n")
    return next(n for n in range(len(rows) - 1, -1, -1) if rows[n].startswith(" main"))


def test_a_file_that_is_written_or_patched_shows_its_change_in_colours(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    with window(stage(tmp_path), rows=40) as seen:
        said(seen, "patch notes.txt")
        shown = seen.until("It is patched.")
        assert re.search(r"✓ patch notes.txt  \+1 -1", shown)
        assert "  -two\n  +2\n   three" in shown
        said(seen, "write notes.txt")
        shown = seen.until("It is written.")
        assert re.search(r"✓ write_file notes.txt  \+2 -1", shown)
        seen.settle()
        rows = seen.screen.split("\n")
        colours = {seen.cells[rows.index(text)][3].fg for text in ("  -2", "  +TWO", "   one")}
        assert len(colours) == 3
        seen.type("\x0f")
        panel = seen.until("^O folds it", on_screen=True)
        assert "$ " not in panel
        assert "  +<b>four</b>" in panel[panel.index("write_file: ok") :]
    with window(stage(tmp_path), rows=40) as seen:  # without the events, from the messages
        assert "  -two\n  +2" in seen.until("It is written.")


def test_a_card_about_a_file_shows_what_would_change(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("one\ntwo\nthree\n", encoding="utf-8")
    with window(stage(tmp_path), columns=160, rows=40) as seen:
        said(seen, "write .env")
        card = seen.until("Esc to write instead")
        assert "/.env: 2 lines added, 1 removed" in card
        assert "│ -two\n│ +TWO\n│  three\n│ +<b>four</b>" in card
        rows = seen.screen.split("\n")
        colours = {seen.cells[rows.index(text)][1].fg for text in ("│ -two", "│ +TWO", "│  three")}
        assert len(colours) == 3
