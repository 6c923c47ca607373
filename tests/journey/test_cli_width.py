"""Output is wrapped between words, at any width of the terminal."""

from pathlib import Path

import pytest

from journey.cli_program import Program, scripted

ANSWER = "The quick brown fox jumps over the lazy dog and reconsiders everything."


@pytest.fixture(scope="module")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> Program:
    program = scripted(tmp_path_factory.mktemp("width"))
    program.environ["NO_COLOR"] = "1"
    program.run("chat", "--session", "a long name", "-q", ANSWER)
    return program


def broken(text: str, columns: int) -> list[str]:
    """Return the lines that the terminal itself must wrap although they have a blank to wrap at."""
    return [line for line in text.splitlines() if len(line) > columns and " " in line.strip()]


@pytest.mark.parametrize("columns", [24, 41, 100])
@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["sessions", "--help"],
        ["chat", "--help"],
        ["model", "--help"],
        ["sesions"],
        ["sessions", "list"],
        ["sessions", "show", "a long name"],
        ["policy", "check", "ls", "-l"],
        ["model", "providers"],
    ],
    ids=" ".join,
)
def test_nothing_is_broken_in_mid_word(hermes: Program, words: list[str], columns: int) -> None:
    done = hermes.on_terminal(*words, columns=columns)
    assert broken(done.out, columns) == []


def test_an_answer_is_broken_between_words_as_it_comes(hermes: Program, tmp_path: Path) -> None:
    done = hermes.on_terminal("chat", "-q", ANSWER, columns=30)
    lines = [line for line in done.out.splitlines() if "thinking" not in line]
    assert broken("\n".join(lines), 30) == []
    assert ANSWER in " ".join(done.out.split())
    assert f"You said: {ANSWER}\n" == hermes.run("chat", "-q", ANSWER).out
