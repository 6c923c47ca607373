"""What "always" covers for a shell command, what a person is shown, and what then runs."""

import re
from pathlib import Path

import pytest

from hermes.core.grants import Template
from hermes.core.policy import Capability, Finding
from hermes.core.ports import Tool
from hermes.core.rules import Ask, Deny
from hermes.terminals.local import LocalTerminal
from hermes.tools.defaults import default_tools
from hermes.tools.shell_grants import examples, template_of
from hermes.tools.shell_paths import Place
from hermes.tools.shell_shown import shown
from hermes.tools.shell_verdict import judge

PLACE = Place(root="/srv/project", cwd="/srv/project", home="/home/user")
ROOT = Path("/")


def template(command: str, place: Place = PLACE) -> Template | None:
    return template_of(judge(command, place), place)


def covers(granted: str, called: str) -> bool:
    grant, call = template(granted), template(called)
    return grant is not None and call is not None and grant.covers(call)


@pytest.mark.parametrize(
    ("granted", "called"),
    [
        ("rm -r build", "rm -r build"),
        ("rm -r build", "rm build/x"),
        ("rm -r build", "rm -r ./build/../build/y"),
        ("git push origin x", "git push origin x"),
    ],
)
def test_pol_07_a_grant_covers_its_own_command_and_what_is_within(
    granted: str, called: str
) -> None:
    assert covers(granted, called)


@pytest.mark.parametrize(
    ("granted", "called"),
    [
        ("rm -r build", "rm -r ~"),
        ("rm -r build", "rm -r ."),
        ("rm -r build", "rm -r src"),
        ("rm -r build", "rm -rf build"),
        ("rm -r build", "rm -r build src"),
        ("rm -r build", "rm -r build; rm -r src"),
        ("rm -r build", "rm -r build/../src"),
        ("git push origin x", "git push evil"),
        ("git push origin x", "git push origin x --force"),
        ("git push origin x", "git push"),
        ("git push origin x", "git -C .. push origin x"),
    ],
)
def test_pol_07_a_grant_covers_nothing_else(granted: str, called: str) -> None:
    assert not covers(granted, called)


@pytest.mark.parametrize(
    "command",
    [
        "python a.py",
        "bash x",
        "sh -c ls",
        "env ls",
        "sudo ls",
        "xargs rm",
        "find . -delete",
        "make",
        "npm test",
        "rm -r ~",
        "rm -r .",
        "rm -r $X",
        "rm *",
        "rm a | sh",
        "rm a > b",
        "rm .git/config",
        "r''m a",
        "rm \u202ea",
        "curl http://x.example",
        "kill 5",
        "rm 'unclosed",
    ],
)
def test_pol_07_always_is_never_offered_for_what_can_be_anything(command: str) -> None:
    assert template(command) is None


def test_pol_07_examples_are_covered_by_the_grant_they_explain() -> None:
    granted = template("rm -r build")
    assert granted is not None
    made = examples(granted)
    assert 1 < len(made) <= 3
    for command in made:
        call = template(command)
        assert call is not None
        assert granted.covers(call)


@pytest.mark.parametrize(
    ("command", "seen"),
    [
        ("rm -r x #\rls -la", "\\r"),
        ("ls \u202egnp", "RIGHT-TO-LEFT OVERRIDE"),
        ("ls a\u200bb", "ZERO WIDTH SPACE"),
        ("ls \x1b[2K", "\\x1b"),
        ("ls \u00a0x", "NO-BREAK SPACE"),
        ("ls \U000e0041", "TAG LATIN CAPITAL LETTER A"),
    ],
)
def test_sh_05_a_person_sees_what_does_not_show(command: str, seen: str) -> None:
    text = shown(command, judge(command, PLACE), ROOT).text
    assert seen in text
    assert all(char == "\n" or char.isprintable() for char in text)


def test_sh_05_a_long_command_shows_its_beginning_its_end_and_how_much_is_missing() -> None:
    command = "echo " + "a" * 4_000 + "; rm x"
    seen = shown(command, judge(command, PLACE), ROOT)
    assert seen.text.startswith("echo a")
    assert seen.text.endswith("; rm x")
    assert f"{len(command) - 2_000:,} characters" in seen.text


def test_sh_05_every_program_is_named() -> None:
    command = "ls | grep x && $X; rm y"
    where, starts, *_ = shown(command, judge(command, PLACE), ROOT).notes
    assert where == "in /"
    assert re.search(r"^it starts \S*/ls, \S*/grep, ", starts)
    assert "/rm" in starts
    assert "(known only when it runs)" in starts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho hi\n")
    program.chmod(0o755)
    return tmp_path


def bound_of(command: str, folder: Path) -> str:
    place = Place(root=str(folder), cwd=str(folder), home="/home/user")
    return shown(command, judge(command, place), folder, folders=[str(folder / "bin")]).bound


def test_sh_03_a_program_is_held_by_its_real_path(folder: Path) -> None:
    (folder / "bin" / "link").symlink_to("tool")
    assert f'"{folder / "bin" / "tool"}"' in bound_of("link -x", folder)
    assert bound_of("link -x", folder) == bound_of("link -x", folder)


def test_sh_03_a_program_that_changed_after_it_was_judged_is_another(folder: Path) -> None:
    before = bound_of("tool", folder)
    (folder / "bin" / "tool").write_text("#!/bin/sh\nrm x\n")
    assert bound_of("tool", folder) != before


def test_sh_03_a_program_that_became_a_link_is_another(folder: Path) -> None:
    before = bound_of("tool", folder)
    (folder / "bin" / "tool").rename(folder / "other")
    (folder / "bin" / "tool").symlink_to(folder / "other")
    assert bound_of("tool", folder) != before


@pytest.mark.parametrize(
    "command", ["tool ./notes.txt", "tool -x && tool notes.txt", "./notes.txt"]
)
def test_sh_04_a_script_that_changed_after_it_was_approved_is_another(
    folder: Path, command: str
) -> None:
    script = folder / "notes.txt"
    script.write_text("echo hi")
    script.chmod(0o755)
    before = bound_of(command, folder)
    assert bound_of(command, folder) == before
    script.write_text("rm x")
    assert bound_of(command, folder) != before


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, Tool]:
    terminal = LocalTerminal(tmp_path / "calls", environ={})
    made = default_tools(terminal, workdir="/srv/project", home="/home/user")
    return {tool.spec.name: tool for tool in made}


async def test_every_tool_says_what_it_can_do_at_its_worst(tools: dict[str, Tool]) -> None:
    declared = {name: tool.capabilities for name, tool in tools.items()}
    assert declared["terminal"] == frozenset({Capability.EXECUTE})
    assert declared["send_message"] == frozenset({Capability.EGRESS})
    assert Capability.CONTROL not in frozenset().union(*declared.values())


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("terminal", '{"command": "cat ~/.ssh/id_rsa"}', Deny),
        ("terminal", '{"command": "rm x"}', Ask),
        ("terminal", '{"command": "ls", "background": true}', Ask),
        ("terminal", '{"command": "cat x", "workdir": "/home/user"}', Ask),
        ("read_file", '{"path": "~/.ssh/id_rsa"}', Deny),
        ("read_file", '{"path": ".env"}', Ask),
        ("write_file", '{"path": ".git/hooks/pre-commit", "content": ""}', Ask),
        ("write_file", '{"path": "/etc/passwd", "content": ""}', Ask),
    ],
)
async def test_pol_11_a_tool_knows_which_arguments_are_not_for_it(
    tools: dict[str, Tool], name: str, arguments: str, expected: type[Ask | Deny]
) -> None:
    assert isinstance(tools[name].judge(arguments, {}).verdict, expected)


async def test_a_harmless_call_is_found_to_be_one(tools: dict[str, Tool]) -> None:
    assert tools["terminal"].judge('{"command": "ls"}', {}).verdict == Finding().verdict
    assert tools["read_file"].judge('{"path": "README.md"}', {}) == Finding()
