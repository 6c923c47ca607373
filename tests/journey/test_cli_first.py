"""The first minute at a terminal: without any set-up, a person gets an answer."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.doubles.shop import Shop

from doubles.fake_llama import installed, missing
from doubles.fake_weights import Shelf
from journey.cli_program import Program
from terminal.emulator import Emulator

CHOICE = "Your choice [1]"


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


def number_of(text: str, words: str) -> str:
    """Return the number of the line that says this."""
    found = re.search(rf"^ *(\d+)  .*{re.escape(words)}", text, re.MULTILINE)
    assert found is not None, text
    return found[1]


def test_enter_takes_the_built_in_model_and_it_answers(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages")]
    with terminal(hermes) as seen:
        asked = " ".join(seen.until(CHOICE).split())
        assert "No model is set up yet." in asked
        assert "a built-in one: SmolLM2 135M (is here): smallest, no tools" in asked
        seen.type("\n")
        greeted = seen.until("own engine")
        assert "A small built-in model answers" in greeted
        assert "hermes gateway setup" in greeted
        assert greeted.partition("For example:")[2].count("”") == 3, "three suggestions"
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


def test_weights_are_fetched_with_their_licence_told_and_then_answer(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages", packaged=False)]
    with Shelf(body=b"whole" * 100).open() as shelf:
        shelf.offer(hermes.folder / ".cache" / "hermes" / "weights")
        with terminal(hermes) as seen:
            assert "a built-in one: Fake 0.5B" in seen.until(CHOICE)
            seen.type("\n")
            assert "its licence is Fake-1.0" in " ".join(seen.until("own engine").split())
            seen.type("hello there\r")
            seen.until('"format": "json_schema"')  # the profile for small models
            seen.settle()
            seen.type("/exit\r")
            assert seen.ended() == 0
    assert hermes.run("config", "get", "model.name").out.startswith("qwen2.5-coder-")


def test_what_it_costs_is_said_before_it_is_installed(hermes: Program) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    done = hermes.on_terminal(typed=[(CHOICE, "5\n")])
    assert done.status == 0, done.out
    told = " ".join(done.out.split())
    assert re.search(r"Qwen2\.5-Coder [\d.]+B \([\d,]+ MB download\): small; for trying", told)
    assert not (hermes.home / "config.yaml").exists()


def test_a_provider_is_chosen_in_the_same_breath(hermes: Program) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    with Shop(key="").open() as shop:
        typed = [
            (CHOICE, "3\n"),
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
        (CHOICE, "3\n"),
        ("Provider: ", "custom\n"),
        ("ending in /v1: ", "http://127.0.0.1:1/v1\n"),
        ("Its key", "\n"),
        ("Nothing was changed.", "5\n"),
    ]
    done = hermes.on_terminal(typed=typed)
    assert done.status == 0, done.out
    assert done.out.count(CHOICE) == 2
    assert not (hermes.home / "config.yaml").exists()


@pytest.mark.setting("model.servers")
def test_a_server_on_this_computer_is_offered_first_and_kept_if_it_answers(
    hermes: Program,
) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    with Shop(key="").open() as shop:
        hermes.environ["HERMES_MODEL__SERVERS"] = f'["http://127.0.0.1:1/v1", "{shop.url}"]'
        with terminal(hermes) as seen:
            asked = seen.until(CHOICE)
            assert number_of(asked, "on this computer: ") == "1"
            assert "small-1" in asked
            seen.type("\n")
            seen.until("Model [")
            seen.type("small-1\n")
            seen.until("The model is custom:small-1.")
            seen.until("own engine")
            seen.type("/exit\r")
            assert seen.ended() == 0
    assert hermes.run("config", "get", "model.base_url").out == f"{shop.url}\n"


def test_a_key_in_the_environment_is_offered_by_its_name_alone(hermes: Program) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    hermes.environ["OPENROUTER_API_KEY"] = "sk-or-secret"
    done = hermes.on_terminal(typed=[(CHOICE, "6\n")])
    assert done.status == 0, done.out
    assert number_of(done.out, "OpenRouter, with your key in OPENROUTER_API_KEY") == "1"
    assert "secret" not in done.out


def test_the_tour_can_be_taken_before_any_model_is_chosen(hermes: Program) -> None:
    hermes.packages = [missing(hermes.folder / "packages")]
    typed = [(CHOICE, "4\n"), ("Enter continues, q leaves: ", "q\n"), ("q\r\nYour choice", "5\n")]
    done = hermes.on_terminal(typed=typed)
    assert done.status == 0, done.out
    assert "I read and write files" in " ".join(done.out.split())
    assert not (hermes.home / "config.yaml").exists()


def test_a_chat_uses_a_server_on_this_computer_before_the_built_in_model(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages")]
    with Shop(key="").open() as shop:
        hermes.environ["HERMES_MODEL__SERVERS"] = f'["{shop.url}"]'
        done = hermes.run("chat", "-q", "hello")
    assert done.status == 0, done
    assert done.out == "Hello from the shop.\n"
    assert done.err.count("\n") == 1
    assert re.search(r"No model is set up: \S+ of Any OpenAI-compatible server, on this", done.err)
    assert not (hermes.home / "config.yaml").exists(), "it was lent, not chosen"


def test_a_key_that_cannot_be_used_is_told_and_the_next_thing_answers(hermes: Program) -> None:
    hermes.packages = [installed(hermes.folder / "packages")]
    hermes.environ |= {"GROQ_API_KEY": "sk-secret", "ALL_PROXY": "http://127.0.0.1:1"}
    done = hermes.run("chat", "-q", "hello")
    assert done.status == 0, done
    assert "built-in heard" in done.out
    assert "Groq (GROQ_API_KEY) cannot be used" in done.err
    assert "secret" not in done.err
