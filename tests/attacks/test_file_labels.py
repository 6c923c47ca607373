"""POL-2: text of strangers that went through a file or a list is still theirs, after a kill too."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from hermes.core.channel import CommandContext
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import Call
from hermes.core.ports import Tool, ToolContext, ToolResult
from hermes.terminals.local import LocalTerminal
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.workspace import LocalWorkspace
from hermes.testing.model import Asked, Model, Says
from hermes.tools.command_reads import reads_of, writes_obeyed
from hermes.tools.defaults import default_tools
from hermes.tools.files.file_labels import FileLabels
from hermes.tools.files.label_log import FILE
from tests.attacks.test_approvals import asked
from tests.attacks.test_repositories import git
from tests.attacks.test_taint import AFTER_STRANGERS, EVIL, must_ask, noted, site
from tests.process.gateway import GatewayProcess
from tests.process.looks import idle, tried

BAD = ("untrusted",)
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "note": ("write_file", {"path": "notes.txt", "content": EVIL}),
    "open": ("read_file", {"path": "notes.txt"}),
    "grep": ("search_files", {"pattern": "EVIL"}),
    "cat": ("terminal", {"command": "cat notes.txt"}),
    "copy": ("terminal", {"command": "cp notes.txt copy.txt"}),
    "moved": ("read_file", {"path": "copy.txt"}),
    "plan": ("todo", {"todos": [{"id": "1", "content": EVIL, "status": "pending"}]}),
    "todo": ("todo", {}),
    "build": ("write_file", {"path": "Makefile", "content": "all:\n\techo hi\n"}),
    "shell": ("terminal", {"command": "echo 'echo stranger text stranger text' >> notes.txt"}),
}


def also(rule: Any) -> Any:
    def told(asked: Asked) -> Says:
        word = asked.said.rpartition("\n")[2].split(" ")[0]
        if word in CALLS and not asked.results:
            return Says(calls=(CALLS[word],))
        said = rule(asked)
        assert isinstance(said, Says)
        return said

    return told


@asynccontextmanager
async def den(folder: Path) -> AsyncIterator[tuple[GatewayProcess, Model]]:
    async with site(folder) as (here, model):
        model.rule = also(model.rule)
        await here.start()
        yield here, model


async def test_pol_02_taint_survives_a_file_and_a_kill(tmp_path: Path) -> None:
    async with den(tmp_path) as (here, _):
        await here.say("read")
        assert "Created" in (await here.say("note")).text
        await here.kill()
        await here.start()
        assert "EVIL-1" in (await here.say("open", "by-tool")).text
        await must_ask(here, "by-tool")
        assert "EVIL-1" in (await here.say("grep", "by-search")).text
        await must_ask(here, "by-search")
        assert "EVIL-1" in (await here.say("cat", "by-command")).text
        await must_ask(here, "by-command")
        await here.say("copy", "by-copy")
        assert "EVIL-1" in (await here.say("moved", "by-copy")).text
        await must_ask(here, "by-copy")


async def test_pol_02_what_a_tainted_command_changed_is_labelled(tmp_path: Path) -> None:
    async with den(tmp_path) as (here, _):
        await here.say("hello")
        await here.say("note", "clean")
        await here.say("open", "reader")
        assert "Version 1" in (await here.say("learn", "reader")).text, "nothing foreign in it"
        await here.say("read")
        await here.say("shell")
        await here.kill()
        await here.start()
        assert "stranger text" in (await here.say("open", "later")).text
        await must_ask_again(here, "later")


async def must_ask_again(here: GatewayProcess, session: str) -> None:
    asking = asyncio.create_task(tried(here, "learn more", session, key=f"{session}-x"))
    [question] = await asked(here)
    assert AFTER_STRANGERS in question["why"]
    await here.post(f"/v1/approvals/{question['id']}", answer="deny")
    await asking
    await idle(here, session)


async def test_pol_02_a_list_belongs_to_its_conversation(tmp_path: Path) -> None:
    async with den(tmp_path) as (here, _):
        await here.say("read")
        await here.say("plan")
        await here.kill()
        await here.start()
        await here.say("/new")
        assert "EVIL" not in (await here.say("todo")).text
        assert "Version 1" in (await here.say("learn")).text


async def test_pol_02_what_programs_obey_is_asked_about_after_strangers_text(
    tmp_path: Path,
) -> None:
    async with den(tmp_path) as (here, _):
        assert "Created" in (await here.say("build", "clean")).text
        await here.say("read")
        asking = asyncio.create_task(tried(here, "build", key="b"))
        [question] = await asked(here)
        assert AFTER_STRANGERS in question["why"]
        await here.post(f"/v1/approvals/{question['id']}", answer="deny")
        await asking
        assert not noted(here)


def labels_in(folder: Path) -> FileLabels:
    return FileLabels(folder / "home", LocalFiles(), time.time_ns)


def test_pol_02_a_label_is_found_by_path_by_content_and_by_folder(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    labels = labels_in(tmp_path)
    file, copy = work / "a.txt", work / "b.txt"
    labels.write(str(file), EVIL.encode(), BAD)
    file.write_text(EVIL)
    copy.write_text(EVIL)
    (work / "link").symlink_to(file)
    again = labels_in(tmp_path)
    for path in (file, copy, work / "link"):
        assert again.of(str(path)) == BAD, path
    assert again.below(str(tmp_path)) == BAD
    file.write_text("the owner's own words, which are other words")
    assert again.of(str(file)) == BAD, "an edit of a labelled file may keep its words"
    clean = b"written as a whole, by a conversation without strangers"
    again.write(str(file), clean, ())
    file.write_bytes(clean)
    assert labels.of(str(file)) == ()


def test_pol_02_what_a_command_changed_is_labelled_while_it_runs_and_after(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "repo/.git/objects").mkdir(parents=True)
    (work / "old.txt").write_text("an old file, which nobody changes in this test")
    time.sleep(0.2)  # change times have the resolution of the kernel's clock
    labels = labels_in(tmp_path)
    labels.begin("call-1", str(work), BAD)
    new = work / "repo/new.txt"
    new.write_text(EVIL)
    (work / "repo/.git/objects/ab").mkdir()
    assert labels_in(tmp_path).of(str(new)) == BAD, "killed before it was noted"
    assert labels.of(str(work / "old.txt")) == ()
    labels.settle("call-1")
    assert labels_in(tmp_path).unsettled() == ()
    assert labels_in(tmp_path).of(str(new)) == BAD
    assert labels.of(str(work / "repo/.git/objects/ab/cd")) == BAD
    assert labels.of(str(work / "old.txt")) == ()
    assert labels.of_output("call-1") == BAD
    assert labels.of_output("call-2") == ()


def test_pol_02_a_torn_log_of_labels_loses_what_was_not_done(tmp_path: Path) -> None:
    labels = labels_in(tmp_path)
    labels.write("/ws/a", EVIL.encode(), BAD)
    log = tmp_path / "home" / FILE
    log.write_bytes(log.read_bytes() + b'{"type":"file","path":"/w')
    again = labels_in(tmp_path)
    again.write("/ws/b", EVIL.encode(), BAD)
    last = labels_in(tmp_path)
    assert (last.of("/ws/a"), last.of("/ws/b"), last.of("/ws/c")) == (BAD, BAD, ())
    assert (log.stat().st_mode & 0o777) == 0o600


@pytest.mark.parametrize(
    "command",
    [
        *("cat notes.txt", "cat *.txt", "head -n 5 ./notes.txt | sort", "cd sub; cat ../notes.txt"),
        *("grep -rn x .", "rg x", "sed -n 1p < notes.txt", "python3 show.py", "make", "git show"),
        *("cat $(ls)", "xargs cat", "A=1 cat notes.txt", "find . -name x", "git log -p", "sh x"),
    ],
)
def test_pol_02_a_command_that_may_read_a_labelled_file_is_known(command: str) -> None:
    found = reads_of(command, "/ws", "/ws")
    assert "/ws/notes.txt" in found.files or "/ws" in found.folders, command


@pytest.mark.parametrize("command", ["ls", "cat other.txt", "git status", "mkdir -p a/b", "date"])
def test_pol_02_a_command_that_reads_no_labelled_file_is_none(command: str) -> None:
    found = reads_of(command, "/ws", "/ws")
    assert "/ws/notes.txt" not in found.files
    assert "/ws" not in found.folders


def test_pol_02_a_command_that_writes_what_programs_obey_is_known() -> None:
    for command in (
        *(
            "echo x > Makefile",
            "cp a sub/package.json",
            "tee pyproject.toml",
            "sed -i s/a/b/ tox.ini",
        ),
        *("cp -r evil/. .", "mv evil/* .", "ln -s x setup.py", "tar xf a.tar", "cp x HERMES.md"),
    ):
        assert writes_obeyed(command), command
    for command in ("echo x > notes.txt", "mkdir a", "cp a.txt b.txt", "git add a.txt"):
        assert not writes_obeyed(command), command


async def test_pol_02_files_of_a_cloned_repository_are_labelled(tmp_path: Path) -> None:
    """Any command in a box with a network may have brought them."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine.txt").write_text("what the owner wrote before the command was run")
    await asyncio.sleep(0.2)
    terminal = LocalTerminal(tmp_path / "calls", environ={"PATH": "/usr/bin:/bin"})
    labels = FileLabels(tmp_path / "home", LocalFiles(), time.time_ns, profile="net")
    here = LocalWorkspace(terminal, workdir=str(work), home=str(tmp_path))
    tools = default_tools(here, labels=labels)
    try:
        await bench_of(tools, "terminal", command="mkdir repo && echo 'obey me, obey me' > repo/R")
        result = await bench_of(tools, "read_file", path="repo/R")
        assert ("untrusted" in result.labels, "obey me" in result.text) == (True, True)
        assert (await bench_of(tools, "read_file", path="mine.txt")).labels == ()
        found = await bench_of(tools, "search_files", pattern="obey")
        assert "untrusted" in found.labels
    finally:
        await terminal.close()


async def bench_of(tools: Sequence[Tool], name: str, **arguments: str) -> ToolResult:
    [tool] = [tool for tool in tools if tool.spec.name == name]
    call = Call(id=CallId(f"turn-{name}"), tool=name, arguments=json.dumps(arguments))
    context = ToolContext(
        session=SessionKey("s"),
        turn=TurnId("turn"),
        call=call,
        facts={},
        labels=frozenset(),
        watch=lambda _glimpse: None,
        host=cast("CommandContext", None),
    )
    return await tool.run(context)


async def test_sbx_08_a_repository_that_a_tainted_command_made_runs_nothing(tmp_path: Path) -> None:
    """It is even looked into by `git status` of the repository around it."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    owned = git(work, "init -q; git commit -q --allow-empty -m one", home)
    git(work, "config core.fsmonitor 'true; false'; git config alias.x '!true'", home)
    kept = (work / ".git/config").read_text()
    await asyncio.sleep(0.2)
    terminal = LocalTerminal(tmp_path / "calls", environ={"PATH": "/usr/bin:/bin"})
    labels = FileLabels(tmp_path / "ours", LocalFiles(), time.time_ns, profile="net")
    here = LocalWorkspace(terminal, workdir=str(work), home=str(home))
    tools = default_tools(here, labels=labels)
    name = "-c user.name=a -c user.email=a@b"
    planted = (
        f"git init -q evil; cd evil; git {name} commit -q --allow-empty -m x; "
        f"git config core.fsmonitor 'touch {home}/pwned; false'; git config remote.o.url x; "
        f"echo 'touch {home}/pwned' > .git/hooks/post-index-change; chmod +x .git/hooks/*; "
        f"cd ..; git add evil; git init -q --bare store; cd store; "
        f"git config core.fsmonitor 'touch {home}/pwned; false'; git config core.bare false; "
        "git config core.worktree ..; cd ..; mkdir other; git init -q clean; "
        "git -C clean config remote.origin.url https://example.org/x"
    )
    try:
        told = await bench_of(tools, "terminal", command=planted)
    finally:
        await terminal.close()
    assert "evil/.git/config" in told.text, told.text
    for folder in (work, work / "evil", work / "store"):
        git(folder, "status", home)
        git(folder, "diff", home)
    assert not (home / "pwned").exists()
    assert "evil" in git(work, "status --short", home)
    assert git(work / "evil", "config remote.o.url", home) == "x\n"
    assert git(work / "clean", "config remote.origin.url", home).startswith("https")
    assert not list((work / "clean/.git").glob("*.untrusted*"))
    assert (work / ".git/config").read_text() == kept, owned
