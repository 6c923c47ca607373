"""Ctrl+C in a menu or a download: one clear line, status 130, and nothing half done."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from doubles.fake_llama import missing
from journey.cli_program import PATIENCE_S, Program

LINE = "hermes: stopped by Ctrl+C"
INSTALLER = """#!/bin/sh
trap 'echo a word of the installer >&2; exit 130' INT
echo installing >&2
sleep 60 &
wait
"""
INSTALLING = """
import sys
sys.prefix = sys.argv.pop(1)
from hermes.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return Program(tmp_path, {"NO_COLOR": "1"}, [missing(tmp_path / "packages")])


@pytest.mark.parametrize(
    ("words", "prompt"),
    [([], "Your choice [1] "), (["model"], "Provider"), (["setup"], "Provider")],
)
def test_in_a_menu(hermes: Program, words: list[str], prompt: str) -> None:
    done = hermes.on_terminal(*words, typed=[(prompt, "^C")])
    assert done.status == 130
    assert done.out.splitlines()[-1] == LINE
    assert "Traceback" not in done.out
    assert not (hermes.home / "config.yaml").exists()


def test_in_a_download(hermes: Program, tmp_path: Path) -> None:
    (tmp_path / "hermes-stamp").write_text(f"root {tmp_path}\n")
    (tmp_path / "hermes").write_text(INSTALLER)
    (tmp_path / "hermes").chmod(0o755)
    program = [sys.executable, "-P", "-c", INSTALLING, str(tmp_path)]
    child = subprocess.Popen(
        [*program, "model", "--provider", "local", "--yes"],
        env=hermes.env(),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr is not None
    while "installing" not in (line := child.stderr.readline()):
        assert line, "it never began"
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: signal the foreground process group
    _, err = child.communicate(timeout=PATIENCE_S)
    assert (child.returncode, err) == (130, f"{LINE}\n")
    assert not (hermes.home / "config.yaml").exists()


def test_input_that_ends_at_a_question_is_one_line(hermes: Program) -> None:
    done = hermes.on_terminal(typed=[("Your choice [1] ", "\x04")])
    assert done.status == 1
    assert "the input ended before everything was answered" in done.out
