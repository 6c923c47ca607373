"""SH-7: to lose what is in a file is asked about as deleting the file is."""

import json
from pathlib import Path

import pytest

from hermes.core.ids import CallId
from hermes.core.ports import Tool
from hermes.core.rules import Allow, Ask
from hermes.terminals.local import LocalTerminal
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools
from tests.unit.tools.tool_context import Desk

LOSES = [
    ": > kept.txt",
    "> kept.txt",
    "true > kept.txt",
    "echo -n > kept.txt",
    "printf '' > kept.txt",
    "cat /dev/null > kept.txt",
    "ls && : > kept.txt",
    "echo new > kept.txt",
    "echo new >kept.txt",
    "ls &> kept.txt",
    "cat > kept.txt <<'E'\nnew\nE",
    "echo new > ./sub/../kept.txt",
    "cd sub && echo new > ../kept.txt",
    "cp /dev/null kept.txt",
    "cp other.txt kept.txt",
    "cp -f other.txt kept.txt",
    "cp sub/kept.txt .",
    "cp sub/kept.txt ./",
    "cp -r sub copy",
    "mv other.txt kept.txt",
    "mv -f other.txt new.txt",
    "mv sub/kept.txt .",
    "mv kept.txt sub",
    "ls | tee kept.txt",
    "tee kept.txt < other.txt",
    "tee new.txt kept.txt < other.txt",
    "tee new.txt < /dev/null",
    "truncate -s 0 kept.txt",
    "dd if=other.txt of=kept.txt",
    "sort -o kept.txt other.txt",
    "sed -i d kept.txt",
    "sed -i '1,$d' kept.txt",
    "sed -i 's/.*//' kept.txt",
    "sed -i 's/^.*$//' kept.txt",
    "sed -n -i p kept.txt",
    "mv kept.txt new.txt && echo x > new.txt",
    "mv sub new && cp other.txt new/kept.txt",
    "cp kept.txt new.txt; cp other.txt new.txt",
    "for i in 1 2; do echo $i > new.txt; done",
    "install other.txt kept.txt",
    "ln -f other.txt kept.txt",
]
KEEPS = [
    "echo new > new.txt",
    "echo more >> kept.txt",
    "ls | tee new.txt",
    "ls | tee -a kept.txt",
    "cp kept.txt new.txt",
    "cp -n other.txt kept.txt",
    "cp kept.txt empty/",
    "mv kept.txt new.txt",
    "mv kept.txt empty",
    "touch kept.txt",
    "mkdir -p sub/new",
    "ls > /dev/null",
    "sed -i 's/foo/bar/' kept.txt",
    "cat > new.txt <<'E'\nnew\nE",
]


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    work = tmp_path / "work"
    for name in ("kept.txt", "other.txt", "sub/kept.txt", "copy/sub/x"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("work of a month\n")
    (work / "empty").mkdir()
    terminal = LocalTerminal(tmp_path / "calls", environ={})
    return next(iter(default_tools(LocalWorkspace(terminal, workdir=str(work), home="/home/user"))))


@pytest.mark.parametrize("command", LOSES, ids=repr)
def test_sh_07_losing_the_content_of_a_file_is_asked_about(tool: Tool, command: str) -> None:
    assert isinstance(tool.judge(json.dumps({"command": command}), {}).verdict, Ask)


@pytest.mark.parametrize("command", KEEPS, ids=repr)
def test_sh_07_writing_that_loses_nothing_is_not(tool: Tool, command: str) -> None:
    found = tool.judge(json.dumps({"command": command}), {}).verdict
    assert isinstance(found, Allow), found


async def test_sh_07_a_file_that_appears_after_the_verdict_is_not_overwritten(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    try:
        await desk.do("terminal", "one", command="echo one > new.txt")
        seen = await desk.terminal.look(CallId("one"))
        assert seen is not None
        assert seen.launch.command == "set -C\n'echo' 'one' > 'new.txt'"
        await desk.do("terminal", command=seen.launch.command.replace("one", "two"))
        assert (desk.place / "new.txt").read_text() == "one\n"
    finally:
        await desk.clear()
