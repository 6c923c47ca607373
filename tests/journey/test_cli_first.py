"""The first minute at a terminal: without any set-up, a person gets an answer."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from doubles.fake_llama import installed, missing
from doubles.shop import Shop
from journey.cli_program import Program
from terminal.emulator import Emulator


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return Program(tmp_path, {"NO_COLOR": "1"})


@contextmanager
def terminal(program: Program) -> Iterator[Emulator]:
    seen = Emulator(program.command(), program.env(), program.folder)
    try:
        yield seen
    finally:
        seen.close()


def test_enter_takes_the_built_in_model_and_it_answers(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages")]
    with terminal(hermes) as seen:
        assert "No model is set up yet." in seen.until("1, 2 or 3 [1]")
        seen.type("\n")
        greeted = seen.until("own engine")
        assert "The small built-in model answers." in greeted
        assert "hermes gateway setup" in greeted
        seen.type("hello there\r")
        answer = seen.until("built-in heard").partition("built-in heard")[2]
        assert "hello there" in answer
        seen.until(lambda text: re.search(r" \d+/4\.1k \d+% ", text), on_screen=True)
        seen.settle()
        seen.type("/exit\r")
        assert seen.ended() == 0
    assert hermes.run("config", "get", "model.provider").out == "local\n"
    with terminal(hermes) as seen:
        assert "No model is set up" not in seen.until("own engine")
        seen.type("\x04")
        assert seen.ended() == 0


def test_what_it_costs_is_said_before_it_is_installed(hermes: Program) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    done = hermes.on_terminal(typed=[("1, 2 or 3 [1] ", "3\n")])
    assert done.status == 0, done.out
    assert "(127 MB download): runs on this computer, not clever" in " ".join(done.out.split())
    assert not (hermes.home / "config.yaml").exists()


def test_a_provider_is_chosen_in_the_same_breath(hermes: Program) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    with Shop(key="").open() as shop:
        typed = [
            ("1, 2 or 3", "2\n"),
            ("Provider:", "custom\n"),
            ("ending in /v1:", f"{shop.url}\n"),
            ("Its key", "\n"),
            ("Model:", "small-1\n"),
            ("The model is custom:small-1.", ""),
            ("own engine", "hi\r"),
            ("Hello from the shop.", "/exit\r"),
        ]
        with terminal(hermes) as seen:
            for wanted, text in typed:
                seen.until(wanted)
                seen.type(text)
            assert seen.ended() == 0


def test_a_choice_that_fails_leads_back_to_the_question(hermes: Program) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    typed = [
        ("1, 2 or 3", "2\n"),
        ("Provider: ", "custom\n"),
        ("ending in /v1: ", "http://127.0.0.1:1/v1\n"),
        ("Its key", "\n"),
        ("Nothing was changed.", "3\n"),
    ]
    done = hermes.on_terminal(typed=typed)
    assert done.status == 0, done.out
    assert done.out.count("1, 2 or 3") == 2
    assert not (hermes.home / "config.yaml").exists()
