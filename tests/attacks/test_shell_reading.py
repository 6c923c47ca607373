"""SH-3: our parser and a shell must not disagree about what runs; where they do, nobody is harmed.

`HERMES_SOAK=1` tries many more commands, and other ones each time.
"""

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.core.ids import CallId, SessionKey
from hermes.core.rules import Allow, Ask
from hermes.ports.sandbox import Sandbox
from hermes.ports.terminal import CommandLaunch
from hermes.terminals.local import LocalTerminal
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.verdict import judge
from tests.attacks.shell.lists import rows
from tests.attacks.shell.stub_shell import candidates, started_by, was_seen
from tests.attacks.victim import Victim
from tests.unit.tools.tool_context import Desk

SOAK = bool(os.environ.get("HERMES_SOAK"))
COUNT, ROUNDS = (10_000, 20) if SOAK else (1_500, 1)
SEED = int(os.environ.get("HERMES_SEED") or (time.time() if SOAK else 15))
PLACE = CommandPlace(root="/srv/project", cwd="/srv/project", home="/home/user")

DISAGREEMENTS = [
    "echo `echo a` `rm -rf x`",
    "echo a\n\\rm -rf x",
    "ls\n\\rm -rf x",
    "ls \n\\rm -rf x",
    "echo `a` b `rm -rf x` c",
    "echo a`\nrm -rf x\n`b",
    "echo `echo \\`rm -rf x\\``",
    "ls; \n\\\\rm -rf x",
    "cat a.txt\n\\\nrm -rf x",
    'echo "`echo a` `rm -rf x`"',
]


@pytest.mark.parametrize("command", DISAGREEMENTS, ids=repr)
def test_sh_03_what_a_shell_reads_differently_is_asked_about(command: str) -> None:
    assert isinstance(judge(command, PLACE).verdict, Ask)


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_sh_03_a_shell_starts_what_was_judged_and_what_was_written(
    tmp_path: Path, round_: int
) -> None:
    """`$$` is another number in each shell."""
    judged = {
        command: found
        for command in candidates(rows("allowed.jsonl"), COUNT, SEED + round_)
        if "$$" not in command and isinstance((found := judge(command, PLACE)).verdict, Allow)
    }
    assert len(judged) > COUNT / 20  # else it would try next to nothing
    ours = started_by([found.text for found in judged.values()], tmp_path / "rebuilt")
    theirs = started_by(list(judged), tmp_path / "written")
    for (command, found), started, meant in zip(judged.items(), ours, theirs, strict=True):
        unseen = [each for each in started if not was_seen(each, found.invocations)]
        assert not unseen, (SEED, command, found.text)
        assert started == meant, (SEED, command, found.text)


@pytest.mark.parametrize("command", rows("allowed.jsonl"), ids=repr)
def test_sh_03_a_safe_command_can_be_written_down_again(command: str) -> None:
    found = judge(command, PLACE)
    assert bool(found.text) == isinstance(found.verdict, Allow)


async def test_sh_03_what_was_judged_runs_and_in_a_box_where_nothing_can_change(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    try:
        await desk.do("terminal", "one", command="ls  'a b' *.txt | wc -l")
        await desk.do("terminal", "two", command="touch new.txt")
        read = await desk.terminal.look(CallId("one"))
        written = await desk.terminal.look(CallId("two"))
        assert read is not None
        assert written is not None
        assert (read.launch.command, read.launch.profile) == (
            "'ls' 'a b' *'.txt' | 'wc' '-l'",
            "read",
        )
        assert (written.launch.command, written.launch.profile) == ("'touch' 'new.txt'", "write")
    finally:
        await desk.clear()


async def test_sh_03_what_a_person_said_yes_to_runs_as_it_was_shown(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    try:
        context = replace(desk.context("terminal", "one", command="ls  -a"), approved="digest")
        await desk.tools["terminal"].run(context)
        seen = await desk.terminal.look(CallId("one"))
        assert seen is not None
        assert (seen.launch.command, seen.launch.profile) == ("ls  -a", "write")
    finally:
        await desk.clear()


async def test_sh_03_a_wrong_verdict_changes_nothing(
    tmp_path: Path, sandbox: Sandbox, victim: Victim
) -> None:
    """As if a judge had taken this for a reader."""
    work = victim.workspace
    terminal = LocalTerminal(tmp_path / "calls", environ={}, sandbox=sandbox)
    launch = CommandLaunch(
        id=CallId("wrong"),
        session=SessionKey("s"),
        command="rm -rf *; echo x > new; echo x > notes.txt",
        workdir=str(work),
        timeout_s=20.0,
        profile="read",
    )
    before = sorted(work.rglob("*"))
    try:
        await terminal.launch(launch)
        await terminal.wait(launch.id, 20.0)
    finally:
        await terminal.close()
    assert sorted(work.rglob("*")) == before
    assert (work / "notes.txt").read_text() == "notes\n"
