"""Hints name the program as it was called, and quoted text stays unchanged."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from journey.cli_program import Program, scripted


@dataclass
class Called(Program):
    """The program as the launcher of a clone starts it."""

    launcher: str = "./hermes"

    def command(self, *words: str) -> list[str]:
        python, *rest = super().command(*words)
        return [python, "-X", f"hermes={self.launcher}", *rest]


@pytest.fixture
def hermes(tmp_path: Path) -> Called:
    return Called(tmp_path, scripted(tmp_path).environ)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--nosuch",), "See: ./hermes --help"),
        (("config", "get", "nope"), "See: ./hermes config show"),
        (("sessions", "list"), "./hermes chat -q hello"),
        (("gateway", "status"), "Start it with: ./hermes gateway start"),
        (("gateway", "setup"), "  ./hermes config set HERMES_API_KEY -"),
        (("chat", "--nope"), "See: ./hermes chat --help"),
        (("doctor", "--no-calls"), "for more: ./hermes gateway setup"),
        (("--help",), "Usage: ./hermes COMMAND"),
        (("setup", "--help"), "  ./hermes setup --yes "),
    ],
)
def test_every_hint_names_the_command_as_it_was_called(
    hermes: Called, words: tuple[str, ...], hint: str
) -> None:
    done = hermes.run(*words)
    assert hint in done.out + done.err


def test_a_path_with_blanks_is_quoted_and_one_on_the_path_is_not_named(hermes: Called) -> None:
    launcher = hermes.folder / "my tools" / "hermes"
    launcher.parent.mkdir()
    launcher.write_text("#!/bin/sh\n", encoding="utf-8")
    launcher.chmod(0o755)
    hermes.launcher = str(launcher)
    assert f"See: '{launcher}' --help" in hermes.run("--nosuch").err
    (hermes.folder / "bin").mkdir()
    (hermes.folder / "bin" / "hermes").symlink_to(launcher)
    hermes.environ["PATH"] = f"{hermes.folder / 'bin'}:{os.environ['PATH']}"
    assert "See: hermes --help" in hermes.run("--nosuch").err


def test_words_of_others_are_not_changed(hermes: Called) -> None:
    said = "type hermes model, then hermes doctor"
    assert hermes.run("chat", "--session", "main", "-q", said).out == f"You said: {said}\n"
    assert said in hermes.run("sessions", "show", "main").out
