"""`hermes prompt show` from outside, and the total overhead for a new home."""

from pathlib import Path

import pytest

from journey.cli_program import Program, scripted
from journey.test_chat_beside_gateway import Home

OVERHEAD_TOKENS_MAX = 4_000


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    program.home.mkdir(mode=0o700)
    return program


def test_the_whole_overhead_of_a_new_home_is_within_its_budget(hermes: Program) -> None:
    done = hermes.run("prompt", "show", "--json")
    assert (done.status, done.err) == (0, "")
    shown = done.document
    costs = {each["name"]: each["tokens"] for each in (*shown["parts"], *shown["tools"])}
    assert "context" not in costs
    assert shown["labels"] == []
    assert {"identity", "work", "platform", "conversation", "terminal"} <= set(costs)
    assert shown["tokens"]["total"] <= OVERHEAD_TOKENS_MAX, costs


def test_what_the_folder_and_the_settings_say_is_shown(hermes: Program) -> None:
    (hermes.home / "SOUL.md").write_text("You are Ada.\n")
    (hermes.folder / "AGENTS.md").write_text("Use tabs.\n")
    config = "{agent: {personality: butler, personalities: {butler: Very well.}}}"
    (hermes.home / "config.yaml").write_text(config)
    done = hermes.run("prompt", "show")
    assert done.status == 0
    assert done.out.startswith("identity (3 tokens)\nYou are Ada.\n\npersonality (")
    assert "Very well." in done.out
    assert "Use tabs." in done.out
    assert "untrusted" in done.err
    hermes.environ["HERMES_AGENT__TRUSTED_DIRS"] = f"[{hermes.folder}]"
    assert hermes.run("prompt").err == ""


def test_what_makes_no_sense_is_one_line(hermes: Program) -> None:
    done = hermes.run("prompt", "show", "--platform", "fax")
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    done = hermes.run("prompt", "show", "--session", "main")
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    hermes.environ["HERMES_AGENT__PERSONALITY"] = "dragon"
    done = hermes.run("prompt", "show")
    assert (done.status, done.err.count("\n")) == (78, 1)
    assert "agent.personality" in done.err


def names_where_commands_run(program: Program, folder: Path) -> None:
    """Check that a conversation used from another directory names that directory."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "AGENTS.md").write_text("Use tabs here.")
    shown = ""
    for cwd in (folder, elsewhere):
        program.cwd = cwd
        ran = program.run("chat", "--session", "s", "-q", "run pwd")
        shown = program.run("prompt", "show", "--session", "s", "--json").document["text"]
        assert f"{cwd}\n" in ran.out
        assert f'Working directory: "{cwd}"' in shown
    assert "Use tabs here." in shown


def test_the_prompt_names_the_directory_that_commands_run_in(tmp_path: Path) -> None:
    names_where_commands_run(scripted(tmp_path), tmp_path)


def test_beside_a_gateway_it_does_so_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with home.served():
        names_where_commands_run(home, tmp_path)
