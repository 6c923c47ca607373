"""SEC-8: no command that nobody was asked about prints a private file of the workspace."""

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from hermes.core import channel
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import Call
from hermes.core.ports import Tool, ToolContext
from hermes.core.rules import Allow, Ask
from hermes.ports.sandbox import Sandbox
from hermes.terminals.local import LocalTerminal
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools
from tests.attacks.victim import Victim

SECRET = "PRIVATE-4711"
FILES = (".env", "config/.env.local", "certs/server.key", ".npmrc", "deep/er/.ssh/id_rsa")
SILENT = [
    "grep -rh '' .",
    "grep -rhE . --include='*' .",
    "find . -type f -exec cat {} +",
    "find . -type f -exec grep -h '' {} \\;",
    "find . -type f | xargs cat",
    "find . -type f -print0 | xargs -0 tail -n 5",
    "find . -type f -exec od -c {} \\;",
    "find . -type f -exec rev {} \\;",
    "cat */* 2>/dev/null; cat certs/*",
    'for f in certs/* config/*; do cat "$f"; done',
    "wc -c $(git ls-files); cat $(git ls-files)",
    "diff -r certs config",
]
HISTORY = [
    "git show HEAD",
    "git log -p",
    "git log -p --all -3",
    "git diff HEAD~1 HEAD",
    "git grep -h '' HEAD",
    "git grep -n PRIVATE",
    "git diff HEAD~1 --stat -p",
]
ASKED = [
    "git show HEAD:.env",
    "git show :.env",
    "git show HEAD:config/.env.local",
    "git blame .env",
    "git blame -L1,2 certs/server.key",
    "git log -p -- .env",
    "git log -L1,1:.env",
    "git diff HEAD~1 -- '*.key'",
    "git grep -h '' -- .env",
    "git cat-file -p HEAD:.env",
    "git cat-file -p 1a2b3c4d",
    "git show -a HEAD",
    "git log -p --text",
    "git diff --no-index /dev/null .env",
    "xxd .env",
    "od -c .env",
    "rev .env",
    "base32 .env",
    "base64 -w 10 .env",
    "iconv -t UTF-16 .env",
    "find . -name .env -exec cat {} +",
]


def git(victim: Victim, *words: str) -> str:
    people = ("AUTHOR", "COMMITTER")
    environ = {f"GIT_{who}_{what}": "a@b" for who in people for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *words],
        cwd=victim.workspace,
        env={"PATH": os.environ["PATH"], "HOME": str(victim.home), **environ},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


class Session:
    """Run what the policy allows without asking, in a real box."""

    def __init__(self, place: Path, sandbox: Sandbox, victim: Victim) -> None:
        self.terminal = LocalTerminal(place / "calls", environ={}, sandbox=sandbox)
        here = LocalWorkspace(
            self.terminal,
            workdir=str(victim.workspace),
            home=str(victim.home),
            guarded=(str(victim.ours),),
        )
        made = default_tools(here)
        self.tool: Tool = next(tool for tool in made if tool.spec.name == "terminal")

    async def says(self, number: int, command: str) -> str:
        arguments = json.dumps({"command": command, "timeout": 30})
        assert isinstance(self.tool.judge(arguments, {}).verdict, Allow), command
        context = ToolContext(
            session=SessionKey("s"),
            turn=TurnId("t"),
            call=Call(id=CallId(f"c-{number}"), tool="terminal", arguments=arguments),
            facts={},
            labels=frozenset(),
            watch=lambda _glimpse: None,
            host=cast("channel.CommandContext", None),
        )
        return (await self.tool.run(context)).text


@pytest.fixture
async def session(tmp_path: Path, sandbox: Sandbox, victim: Victim) -> AsyncIterator[Session]:
    work = victim.workspace
    for name in FILES:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(f"TOKEN={SECRET}\n")
    (work / "config/open.txt").write_text("anybody may read this\n")
    made = Session(tmp_path, sandbox, victim)
    yield made
    await made.terminal.close()


async def test_sec_08_no_unasked_command_prints_a_private_file(session: Session) -> None:
    said = [await session.says(n, command) for n, command in enumerate(SILENT)]
    assert [(c, text) for c, text in zip(SILENT, said, strict=True) if SECRET in text] == []
    assert "anybody may read this" in said[0]


@pytest.mark.skipif(shutil.which("git", path="/usr/bin:/bin") is None, reason="no git for a box")
async def test_sec_08_no_unasked_git_prints_a_private_file_of_the_history(
    session: Session, victim: Victim
) -> None:
    work = victim.workspace
    shutil.rmtree(work / ".git")
    for words in (
        ("init", "-q"),
        ("commit", "-q", "--allow-empty", "-m", "first"),
        ("add", "-Af"),
        ("commit", "-q", "-m", "all"),
    ):
        git(victim, *words)
    said = [await session.says(n, command) for n, command in enumerate(HISTORY)]
    assert [(c, text) for c, text in zip(HISTORY, said, strict=True) if SECRET in text] == []
    assert "anybody may read this" in said[0]
    blob = git(victim, "rev-parse", "HEAD:.env").strip()
    assert SECRET not in await session.says(99, f"git show {blob}")


@pytest.mark.parametrize("command", ASKED)
def test_sec_08_a_command_that_names_a_private_file_is_asked_about(
    command: str, tmp_path: Path
) -> None:
    terminal = LocalTerminal(tmp_path / "calls", environ={})
    tool = next(
        iter(default_tools(LocalWorkspace(terminal, workdir="/srv/project", home="/home/user")))
    )
    assert isinstance(tool.judge(json.dumps({"command": command}), {}).verdict, Ask)
