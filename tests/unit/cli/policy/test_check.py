"""hermes policy check: a verdict and its reason for each command, and nothing is run."""

import json
from pathlib import Path

import pytest

from hermes.app.agent_setup import command_judge
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.policy.check import COMMAND, run
from hermes.core.errors import Rejected
from tests.unit.cli.stage import Stage, stage


def check(home: Path, console: Stage, *words: str) -> int:
    context = CliContext(home=home, environ={}, console=console, clock=lambda: 0.0)
    return run(COMMAND.parse(list(words)), context, command_judge)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "hermes"


def test_each_command_gets_one_line_of_json(home: Path) -> None:
    console = stage()
    assert check(home, console, "--json", "ls -la", "touch x", "cat ~/.ssh/id_rsa") == DONE
    rows = [json.loads(line) for line in console.stdout.getvalue().splitlines()]
    assert [set(row) for row in rows] == [{"command", "verdict", "effect", "why"}] * 3
    assert [(row["verdict"], row["effect"]) for row in rows] == [
        ("allow", "read"),
        ("allow", "effect"),
        ("deny", "read"),
    ]
    assert not Path("x").exists()


def test_json_lines_on_standard_input_are_answered_line_by_line(home: Path) -> None:
    lines = [{"command": "rm -r /"}, {"id": 7, "command": "a\x00b"}, {"command": "r\\\nm ü"}]
    console = stage(stdin="\n".join(map(json.dumps, lines)) + "\n\n")
    assert check(home, console) == DONE
    rows = [json.loads(line) for line in console.stdout.getvalue().splitlines()]
    assert [row["command"] for row in rows] == [line["command"] for line in lines]
    assert [row["verdict"] for row in rows] == ["ask", "deny", "ask"]
    assert all(row["why"] for row in rows)


def test_a_person_reads_a_verdict_and_its_reason(home: Path) -> None:
    console = stage()
    check(home, console, "git push", "ls \u202ex")
    text = console.stdout.getvalue()
    assert text.startswith("ask  effect  git push\n  this `git` command ")
    assert "\\u202e" in text


def test_a_line_that_is_no_command_is_named(home: Path) -> None:
    console = stage(stdin='{"command": "ls"}\n["ls"]\n')
    with pytest.raises(Rejected, match="line 2"):
        check(home, console)
    assert json.loads(console.stdout.getvalue())["verdict"] == "allow"


def test_without_a_command_it_says_what_to_give(home: Path) -> None:
    with pytest.raises(UsageError, match="--help"):
        check(home, stage(tty=True))


def test_pol_11_our_own_files_are_not_for_commands(home: Path) -> None:
    console = stage()
    check(home, console, "--json", f"cat {home}/config.yaml", f"touch {home}/config.yaml")
    rows = [json.loads(line) for line in console.stdout.getvalue().splitlines()]
    assert [row["verdict"] for row in rows] == ["deny", "deny"]


def test_pol_11_of_our_own_files_a_command_may_name_those_of_skills(home: Path) -> None:
    console, stored = stage(), f"{home}/skills/.store/{'a' * 64}/waters"
    verdicts = {
        f"bash {stored}/scripts/run.sh": "ask",
        f"cat {home}/skills/mine/references/list.md": "ask",
        f"cat {stored}/../../../../.env": "deny",
        f"cat {home}/skills/../.env": "deny",
        f"cat {home}/skills/lock.json": "deny",
        f"cat {home}/skills/.quarantine/x/SKILL.md": "deny",
        f"cat {home}/skills/mine/.ssh/id_rsa": "deny",
        f"touch {home}/skills/mine/SKILL.md": "ask",
    }
    check(home, console, "--json", *verdicts)
    rows = [json.loads(line) for line in console.stdout.getvalue().splitlines()]
    assert {row["command"]: row["verdict"] for row in rows} == verdicts
