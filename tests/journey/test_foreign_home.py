"""A home of Hermes Agent, a different program, is recognised and left untouched."""

import hashlib
from pathlib import Path

import pytest

from journey.cli_program import Program

REFUSED = "is a home of Hermes Agent (state.db is there)"


def unwrapped(text: str) -> str:
    """Return the text on one line: where a terminal wraps it depends on the path's length."""
    return " ".join(text.split())


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    """Return a person's environment whose ~/.hermes belongs to the other program,
    group-readable."""
    theirs = tmp_path / ".hermes"
    (theirs / "memories").mkdir(parents=True)
    for name, text in {
        "state.db": "SQLite format 3\x00 and so on",
        "config.yaml": "model:\n  default: mock\ncommand_allowlist:\n  - git push\n",
        ".env": "TELEGRAM_BOT_TOKEN=222222:theirs\n",
        "memories/MEMORY.md": "They like tea.\n",
    }.items():
        (theirs / name).write_text(text, encoding="utf-8")
        (theirs / name).chmod(0o644)
    return Program(tmp_path, {"HERMES_HOME": "", "NO_COLOR": "1"})


def picture(folder: Path) -> dict[str, tuple[int, int, str]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        digest = "" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path)] = (about.st_mode, about.st_mtime_ns, digest)
    return found


@pytest.mark.parametrize(
    "words",
    [
        ("chat", "-q", "hello"),
        ("gateway", "run"),
        ("gateway", "start"),
        ("config", "set", "gateway.busy", "queue"),
        ("config", "set", "OPENAI_API_KEY", "sk-1"),
        ("config", "show"),
        ("setup", "--yes"),
        ("model", "--provider", "local"),
        ("memory", "add", "I like coffee."),
        ("doctor", "--no-calls"),
        ("sessions", "list"),
    ],
    ids=" ".join,
)
def test_without_a_terminal_a_command_ends_with_78_and_leaves_it_alone(
    hermes: Program, words: tuple[str, ...]
) -> None:
    before = picture(hermes.folder)
    done = hermes.run(*words)
    assert (done.status, done.out) == (78, ""), done
    assert REFUSED in done.err
    assert "HERMES_HOME=~/.hermes-durable hermes setup" in done.err
    assert "cannot be imported yet" in done.err
    assert done.err.count("\n") == 1
    assert picture(hermes.folder) == before


def test_at_a_terminal_another_home_is_offered_and_used_from_then_on(hermes: Program) -> None:
    before = picture(hermes.folder / ".hermes")
    typed = [("Use ~/.hermes-durable from now on? [Y/n] ", "\n")]
    done = hermes.on_terminal("config", "set", "gateway.busy", "steer", typed=typed)
    assert done.status == 0, done
    assert "is a home of Hermes Agent, another program. It stays as it is." in unwrapped(done.out)
    assert hermes.run("config", "get", "gateway.busy").out == "steer\n", "and it is not asked again"
    own = hermes.folder / ".hermes-durable"
    assert hermes.run("config", "path").out == f"{own / 'config.yaml'}\n"
    assert picture(hermes.folder / ".hermes") == before


def test_a_no_at_the_terminal_changes_nothing(hermes: Program) -> None:
    before = picture(hermes.folder)
    done = hermes.on_terminal(typed=[("from now on? [Y/n] ", "n\n")])
    assert done.status == 78, done
    assert REFUSED in unwrapped(done.out)
    assert picture(hermes.folder) == before


def test_a_home_that_was_named_is_not_swapped_for_another(hermes: Program) -> None:
    hermes.environ["HERMES_HOME"] = str(hermes.folder / ".hermes")
    (hermes.folder / ".hermes-durable").mkdir()
    assert REFUSED in hermes.run("chat", "-q", "hello").err
    done = hermes.on_terminal("config", "set", "gateway.busy", "steer")
    assert (done.status, REFUSED in unwrapped(done.out)) == (78, True), done


def test_a_home_that_is_ours_already_stays_ours(hermes: Program) -> None:
    (hermes.folder / ".hermes" / "hermes.db").touch()
    assert hermes.run("config", "path").out == f"{hermes.folder / '.hermes' / 'config.yaml'}\n"
