"""What "always" covers for a shell command, what a person is shown, and what then runs."""

import json
import re
from pathlib import Path

import pytest

from hermes.core.grants import Template
from hermes.core.policy import Capability, Finding
from hermes.core.ports import Tool
from hermes.core.rules import Ask, Deny
from hermes.terminals.local import LocalTerminal
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools
from hermes.tools.shell.grants import examples, template_of
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.present import present_command
from hermes.tools.shell.verdict import judge

PLACE = CommandPlace(root="/srv/project", cwd="/srv/project", home="/home/user")
ROOT = Path("/")


def template(command: str, place: CommandPlace = PLACE) -> Template | None:
    return template_of(judge(command, place), place)


def covers(granted: str, called: str) -> bool:
    grant, call = template(granted), template(called)
    return grant is not None and call is not None and grant.covers(call)


@pytest.mark.parametrize(
    ("granted", "called"),
    [
        ("rm -r build", "rm -r build"),
        ("rm -r build", "rm -r ./build/../build/y"),
        ("git push origin x", "git push origin x"),
    ],
)
def test_pol_07_a_grant_covers_its_own_command_and_what_is_within(
    granted: str, called: str
) -> None:
    assert covers(granted, called)


@pytest.mark.parametrize(
    ("granted", "covered", "not_covered"),
    [
        ("python3 a.py", ["python3 a.py"], ["python3 b.py", "python3 a.py -x", "python3.12 a.py"]),
        ("python3 -u a.py in.csv", ["python3 -u a.py in.csv"], ["python3 a.py in.csv"]),
        ("python3 a.py data", ["python3 a.py data/x"], ["python3 a.py", "python3 a.py /etc/x"]),
        ("python3 -m pytest -q t", ["python3 -m pytest -q t/u"], ["python3 -m pytest t"]),
        ("pytest -q tests", ["pytest -q tests/unit"], ["pytest -q", "pytest tests", "pytest -q x"]),
        ("pytest", ["pytest"], ["pytest -p evil", "pytest tests"]),
        ("make test", ["make test"], ["make", "make install", "make test SHELL=./x", "make -C x"]),
        ("npm run build", ["npm run build"], ["npm run deploy", "npm run build --x", "npm test"]),
        ("cargo test", ["cargo test"], ["cargo run", "cargo test -p x"]),
        ("node a.js", ["node a.js"], ["node b.js", "node -r ./x a.js"]),
    ],
)
def test_pol_07_developers_programs_are_granted_in_one_form(
    granted: str, covered: list[str], not_covered: list[str]
) -> None:
    assert template(granted) is not None
    assert [command for command in covered if not covers(granted, command)] == []
    assert [command for command in not_covered if covers(granted, command)] == []
    inner = CommandPlace(root="/srv/project", cwd="/srv/project/inner", home="/home/user")
    elsewhere = template(granted, inner)
    here = template(granted)
    assert here is not None
    assert elsewhere is None or not here.covers(elsewhere), "it is for one folder"


@pytest.mark.parametrize("command", ["python3 a.py", "make", "pytest", "npm test"])
def test_pol_07_outside_of_the_workspace_nothing_is_always(command: str) -> None:
    away = CommandPlace(root="/srv/project", cwd="/srv/other", home="/home/user")
    assert template(command, away) is None


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
        ("git clean -n -f", "git clean -f"),
        ("rm -r build", "rm build"),
        ("mv build old", "mv old build"),
        ("cp -t out src", "cp out -t src"),
        ("rm -r build", "LD_PRELOAD=build/x.so rm -r build"),
        ("rm -r build", "rm -r build > build/log"),
        ("git push origin x", "git -C .. push origin x"),
    ],
)
def test_pol_07_a_grant_covers_nothing_else(granted: str, called: str) -> None:
    assert not covers(granted, called)


@pytest.mark.parametrize(
    "command",
    [
        "python -c 'print(1)'",
        "python -",
        "python -m http.server",
        "python ../a.py",
        "python /usr/bin/x.py",
        "node -e 1",
        "perl -i a.pl",
        "A=1 python a.py",
        "bash x",
        "sh -c ls",
        "env ls",
        "sudo ls",
        "xargs rm",
        "find . -delete",
        "npm install",
        "npm exec x",
        "npx x",
        "pip install x",
        "uv run x",
        "docker run x",
        "cargo install x",
        "go get x",
        "yarn",
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
    text = present_command(command, judge(command, PLACE), ROOT).text
    assert seen in text
    assert all(char == "\n" or char.isprintable() for char in text)


def test_sh_05_a_long_command_shows_its_beginning_its_end_and_how_much_is_missing() -> None:
    command = "echo " + "a" * 4_000 + "; rm x"
    seen = present_command(command, judge(command, PLACE), ROOT)
    assert seen.text.startswith("echo a")
    assert seen.text.endswith("; rm x")
    assert f"{len(command) - 2_000:,} characters" in seen.text


def test_sh_05_every_program_is_named() -> None:
    command = "ls | grep x && $X; rm y"
    where, starts, *_ = present_command(command, judge(command, PLACE), ROOT).notes
    assert where == "Folder: /"
    assert re.search(r"^Programs: \S*/ls, \S*/grep, ", starts)
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
    place = CommandPlace(root=str(folder), cwd=str(folder), home="/home/user")
    return present_command(
        command, judge(command, place), folder, folders=[str(folder / "bin")]
    ).bound


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
    made = default_tools(LocalWorkspace(terminal, workdir="/srv/project", home="/home/user"))
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


def test_a_card_says_that_a_program_finds_its_code_by_itself() -> None:
    notes = present_command("make test", judge("make test", PLACE), ROOT).notes
    assert "Note: make runs files that it finds in the folder by itself" in notes
    assert not [
        note for note in present_command("ls", judge("ls", PLACE), ROOT).notes if "Note" in note
    ]


async def test_pol_07_a_call_in_the_background_is_another_one_and_never_always(
    tools: dict[str, Tool],
) -> None:
    def found(**more: object) -> Finding:
        return tools["terminal"].judge(json.dumps({"command": "make", **more}), {})

    assert found().identity == found(timeout=5).identity
    assert found().identity != found(background=True).identity
    assert found().identity != found(workdir="inner").identity
    assert found().template is not None
    assert found(background=True).template is None


async def test_a_harmless_call_is_found_to_be_one(tools: dict[str, Tool]) -> None:
    assert tools["terminal"].judge('{"command": "ls"}', {}).verdict == Finding().verdict
    assert tools["read_file"].judge('{"path": "README.md"}', {}) == Finding()
