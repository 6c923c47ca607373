"""`hermes memory` as a person runs it: real processes on one home."""

from pathlib import Path

import pytest

from journey.cli_program import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_a_person_edits_a_file_and_takes_it_back_by_one_command(program: Program) -> None:
    assert program.run("memory", "add", "The server is omega.").status == 0
    file = program.home / "memories" / "MEMORY.md"
    file.write_text(file.read_text("utf-8").replace("omega", "alpha"), "utf-8")
    history = program.run("memory", "history", "--json").document
    assert [version["why"] for version in history] == ["edit", "add"]
    assert history[0]["added"][0]["supersedes"] == ["e1"]
    assert program.run("memory", "undo").status == 0
    shown = program.run("memory", "--json").document
    assert [entry["text"] for entry in shown["memory"]["entries"]] == ["The server is omega."]
    assert file.read_text("utf-8") == "# Memory\n\n- The server is omega.\n"


def test_what_cannot_be_done_is_one_line_and_a_status(program: Program) -> None:
    done = program.run("memory", "approve", "p1")
    assert (done.status, done.out) == (1, "")
    assert done.err == "hermes: no proposal “p1” waits. Waiting: none\n"
    assert program.run("memory", "undo", "x").status == 2
