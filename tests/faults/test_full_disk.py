"""A full disk is called full by every command that meets it, and nothing that was there is lost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from journey.cli_program import Done, Program, scripted
from tests.faults.test_disk import mounted

SIZE = "4m"


@pytest.fixture
def hermes(tmp_path: Path) -> Iterator[Program]:
    """A person with a conversation, whose home lies on a small disk of its own."""
    program = scripted(tmp_path)
    program.home.mkdir()
    with mounted(program.home, "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "tmpfs"):
        assert program.run("chat", "-q", "before", "--session", "main").status == 0
        yield program


def fill(hermes: Program) -> Path:
    """To the last byte."""
    filler = hermes.home / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler


def is_told(done: Done, status: int = 1) -> bool:
    one = done.err.count("\n") == 1 and done.err.startswith("hermes: ")
    return done.status == status and one and "the disk is full. Free some space" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("chat", "-q", "hello"),
        ("config", "set", "gateway.busy", "steer"),
        ("config", "set", "OPENAI_API_KEY", "sk-1234"),
        ("memory", "add", "I like tea."),
        ("skills", "create", "tea"),
        ("pairing", "invite"),
        ("sessions", "list"),
        ("backup", "home/copy.tar.gz"),
    ],
    ids=" ".join,
)
def test_a_full_disk_is_called_full(hermes: Program, words: tuple[str, ...]) -> None:
    filler = fill(hermes)
    done = hermes.run(*words)
    assert is_told(done), done
    filler.unlink()
    again = hermes.run(*words)
    assert again.status == 0, again
    assert "before" in hermes.run("sessions", "show", "main").out, "nothing was lost"


def test_a_home_that_is_new_on_a_full_disk_says_so(hermes: Program) -> None:
    fill(hermes)
    hermes.environ["HERMES_HOME"] = str(hermes.home / "new")
    assert is_told(hermes.run("chat", "-q", "hello"))


def test_the_doctor_calls_it_full_and_never_advises_a_restore(hermes: Program) -> None:
    fill(hermes)
    done = hermes.run("doctor", "--no-calls", "--json")
    wrong = {each["check"]: each for each in json.loads(done.out)["checks"] if not each["ok"]}
    assert {"disk", "database"} <= wrong.keys()
    assert "the disk is full" in wrong["database"]["detail"]
    assert "restore" not in str(wrong)
    assert wrong["database"]["fix"].startswith("du -xh ")
