"""What reaches a terminal and what reaches a pipe."""

import json

import pytest

from hermes.cli.output.console import aligned
from hermes.text.visible_text import visible
from unit.cli.stage import stage

ROWS = [("main", "idle", "first\nline"), ("work", "running", "")]


def test_a_pipe_gets_plain_aligned_text() -> None:
    console = stage()
    console.table(("NAME", "STATE", "TITLE"), ROWS)
    lines = console.stdout.getvalue().splitlines()
    assert lines == [
        "NAME  STATE    TITLE",
        "main  idle     first line",
        "work  running",
    ]


def test_a_terminal_gets_a_table_that_fits_its_width() -> None:
    console = stage(tty=True, COLUMNS="40")
    console.table(("NAME", "TEXT"), [("main", "x" * 200)])
    lines = console.stdout.getvalue().splitlines()
    assert max(len(line) for line in lines[1:]) <= 40
    assert "…" in lines[-1]


def test_no_cell_has_power_over_the_terminal() -> None:
    console = stage(tty=True)
    console.table(("NAME",), [("a\x1b[31mb",)])
    assert "\x1b[31m" not in console.stdout.getvalue()
    console.say("title \x1b]0;pwned\x07 end\r\nnext")
    assert "title ␛]0;pwned␇ end\nnext\n" in console.stdout.getvalue()


def test_a_pipe_gets_the_answer_byte_for_byte() -> None:
    console = stage()
    console.say("a\x1b[1mb\n")
    assert console.stdout.getvalue() == "a\x1b[1mb\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "")])
def test_colours_are_left_out_when_they_are_not_wanted(name: str, value: str) -> None:
    console = stage(tty=True, **{name: value})
    console.tell("remark")
    assert console.stderr.getvalue() == "remark\n"
    console.head("x")
    assert console.stdout.getvalue() == "x\n"


def test_colours_are_for_terminals() -> None:
    terminal, pipe = stage(tty=True), stage()
    terminal.head("x\x1b[0m")
    pipe.head("x")
    assert terminal.stdout.getvalue() == "\x1b[1mx␛[0m\x1b[0m\n"
    assert pipe.stdout.getvalue() == "x\n"


def test_a_document_is_one_json_value() -> None:
    console = stage(tty=True)
    console.document([{"a": "ü", "b": None}])
    assert json.loads(console.stdout.getvalue()) == [{"a": "ü", "b": None}]


def test_visible_keeps_lines_and_tabs() -> None:
    assert visible("a\tb\nc\x00\x7f\x9b") == "a\tb\nc␀␡\ufffd"


def test_a_table_without_rows_has_its_headings() -> None:
    assert aligned(("A", "BB"), []) == "A  BB\n"
