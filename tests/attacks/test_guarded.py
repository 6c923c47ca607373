"""POL-11 and PATH-2: no tool opens our own files, and nothing leaves that was not meant to."""

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, serving
from hermes.core.errors import Rejected, ToolFailed
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import Call, Inbound
from hermes.core.policy import Capability
from hermes.core.ports import Answer, ModelRequest, Tool, ToolContext, ToolResult
from hermes.core.rules import Allow, Ask, Deny
from hermes.core.signals import Watch
from hermes.core.store import Accepted, Store
from hermes.ports.terminal import CommandLaunch
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.terminals.local import LocalTerminal
from hermes.terminals.workspace import LocalWorkspace
from hermes.testing.hosts import FakeContext
from hermes.tools.defaults import default_tools
from hermes.tools.send import FILE_BYTES_MAX
from tests.doubles.plaza import Plaza

CANARY = "canary-8f1c"
OURS = (
    *("config.yaml", ".env", "hermes.db", "hermes.db-wal", "audit.key", "pairing.json"),
    *("policy.json", "memories/MEMORY.md", "skills/lock.json", "hooks/x/HOOK.yaml", "logs/a.log"),
    *("telegram/strangers/x", "media/abc", "SOUL.md", "calls/other/meta", "calls/other/output"),
)
THEIRS = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".bash_history", ".config/gcloud/x")


@dataclass
class House:
    """A person's home: our files and a workspace, credentials, and the tools."""

    home: Path
    store: Store
    terminal: LocalTerminal
    accepted: list[Inbound] = field(default_factory=list)

    @property
    def ours(self) -> Path:
        return self.home / ".hermes"

    @property
    def work(self) -> Path:
        return self.ours / "workspace"

    @property
    def tools(self) -> dict[str, Tool]:
        here = LocalWorkspace(
            self.terminal,
            workdir=str(self.work),
            home=str(self.home),
            guarded=(str(self.ours),),
        )
        made = default_tools(here)
        return {tool.spec.name: tool for tool in made}

    def judged(self, name: str, **arguments: object) -> Allow | Ask | Deny:
        return self.tools[name].judge(json.dumps(arguments), {}).verdict

    async def do(self, name: str, /, **arguments: object) -> ToolResult:
        return await self.in_session("s", name, **arguments)

    async def in_session(self, session: str, name: str, /, **arguments: object) -> ToolResult:
        async def accept(inbound: Inbound) -> Accepted:
            self.accepted.append(inbound)
            return cast("Accepted", None)

        desk = FakeContext(
            store=self.store,
            media=FileMediaStore(self.ours / "media"),
            accept=accept,
            status=cast("object", None),  # type: ignore[arg-type]
            consider=cast("object", None),  # type: ignore[arg-type]
            clock=time.time,
        )
        context = ToolContext(
            session=SessionKey(session),
            turn=TurnId("turn"),
            call=Call(id=CallId("turn-1"), tool=name, arguments=json.dumps(arguments)),
            facts={},
            labels=frozenset(),
            watch=lambda _glimpse: None,
            host=desk,
        )
        return await self.tools[name].run(context)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    home = tmp_path / "person"
    for name in (*(f".hermes/{name}" for name in OURS), *THEIRS):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(CANARY)
    (home / ".hermes/workspace").mkdir()
    store = await open_sqlite(tmp_path / "store.db", clock=time.time)
    terminal = LocalTerminal(home / ".hermes/calls", environ=os.environ)
    yield House(home, store, terminal)
    await terminal.close()
    await store.upkeep.close()


def spellings(house: House, name: str) -> list[str]:
    """Return different ways to name the same file from the workspace."""
    full = house.ours / name
    return [
        f"../{name}",
        str(full),
        f"~/.hermes/{name}",
        f"sub/../../{name}",
        f"//{str(full).lstrip('/')}",
        f"{house.ours}/./workspace/../{name}",
        f"{house.home}/.HERMES/{name}",
        f"/proc/self/root{full}",
        f"/proc/{os.getpid()}/root{full}",
    ]


@pytest.mark.parametrize("name", OURS)
async def test_pol_11_our_own_files_are_refused_to_every_file_tool(house: House, name: str) -> None:
    for path in spellings(house, name):
        asked: dict[str, dict[str, object]] = {
            "read_file": {"path": path},
            "write_file": {"path": path, "content": "mine now"},
            "patch": {"path": path, "old_string": CANARY, "new_string": "mine now"},
            "search_files": {"pattern": "canary", "path": path},
            "send_message": {"target": "plaza:12345", "files": [path]},
        }
        if name == "calls/other/output":  # a session may read what its own commands wrote
            del asked["search_files"]
        for tool, arguments in asked.items():
            if (name, tool) != ("calls/other/output", "read_file"):
                assert isinstance(house.judged(tool, **arguments), Deny), (tool, path)
            with pytest.raises(ToolFailed):
                await house.do(tool, **arguments)
        deletion = f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch"
        addition = f"*** Begin Patch\n*** Add File: {path}.new\n+mine\n*** End Patch"
        for text in (deletion, addition):
            assert isinstance(house.judged("patch", patch=text), Deny), path
            with pytest.raises(ToolFailed):
                await house.do("patch", patch=text)
    assert (house.ours / name).read_text() == CANARY
    assert not (house.ours / f"{name}.new").exists()
    assert house.accepted == []


@pytest.mark.parametrize("name", THEIRS)
async def test_pol_11_credentials_and_histories_are_refused_too(house: House, name: str) -> None:
    for path in (f"~/{name}", str(house.home / name), f"../../{name}"):
        assert isinstance(house.judged("read_file", path=path), Deny)
        assert isinstance(house.judged("write_file", path=path, content="x"), Deny)
        with pytest.raises(ToolFailed, match="guarded"):
            await house.do("read_file", path=path)
        with pytest.raises(ToolFailed, match="guarded"):
            await house.do("write_file", path=path, content="x")
    assert (house.home / name).read_text() == CANARY


async def test_pol_11_links_and_second_names_are_no_way_in(house: House) -> None:
    (house.work / "link").symlink_to(house.ours / ".env")
    (house.work / "folder").symlink_to(house.ours)
    (house.home / "outside").symlink_to(house.ours)
    (house.work / "twin").hardlink_to(house.ours / ".env")
    names = ("link", "folder/.env", "folder/config.yaml", "~/outside/.env", "~/outside/new", "twin")
    for path in names:
        with pytest.raises(ToolFailed):
            await house.do("read_file", path=path)
        with pytest.raises(ToolFailed):
            await house.do("search_files", pattern="canary", path=path)
    found = await house.do("search_files", pattern="canary")
    assert CANARY not in found.text
    for path in names[:-1]:
        with pytest.raises(ToolFailed):
            await house.do("write_file", path=path, content="mine now")
    assert (house.ours / ".env").read_text() == CANARY
    assert not (house.ours / "new").exists()


async def test_pol_11_the_workspace_inside_of_our_home_is_free(house: House) -> None:
    assert house.judged("write_file", path="a/b.txt", content="x") == Allow()
    await house.do("write_file", path="a/b.txt", content="x")
    assert (await house.do("read_file", path=str(house.work / "a/b.txt"))).text == "1|x"


async def test_pol_11_a_home_that_is_the_workspace_itself_stays_guarded(house: House) -> None:
    for root in (house.ours, house.ours / "skills"):
        here = LocalWorkspace(
            house.terminal, workdir=str(root), home=str(house.home), guarded=(str(house.ours),)
        )
        made = default_tools(here)
        write = next(tool for tool in made if tool.spec.name == "write_file")
        found = write.judge('{"path": "lock.json", "content": ""}', {})
        assert isinstance(found.verdict, Deny)


async def test_pol_11_an_output_is_for_the_session_whose_command_wrote_it(house: House) -> None:
    launch = CommandLaunch(
        id=CallId("turn-9"), session=SessionKey("s"), command="echo mine", workdir=str(house.work)
    )
    await house.terminal.launch(launch)
    seen = await house.terminal.wait(launch.id, 30)
    assert house.judged("read_file", path=seen.output) == Allow()
    assert (await house.do("read_file", path=seen.output)).text == "1|mine"
    with pytest.raises(ToolFailed, match="of this session"):
        await house.in_session("other", "read_file", path=seen.output)
    with pytest.raises(ToolFailed, match="guarded"):
        await house.do("write_file", path=seen.output, content="x")
    output = house.ours / "calls/turn-9/output"
    output.unlink()
    output.symlink_to(house.ours / "calls/other/output")
    with pytest.raises(ToolFailed, match="link"):
        await house.do("read_file", path=seen.output)


async def test_pol_11_what_runs_later_and_what_is_outside_is_asked_about(house: House) -> None:
    judge = house.tools["write_file"].judge
    later = (".git/hooks/pre-commit", ".git/config", ".envrc", ".vscode/x", ".idea/x", ".mcp.json")
    for path in (*later, "AGENTS.md", "sub/CLAUDE.md", "conftest.py"):
        found = judge(json.dumps({"path": path, "content": ""}), {})
        assert isinstance(found.verdict, Ask), path
        assert found.capabilities == frozenset({Capability.WRITE, Capability.WRITE_SELF})
    for path in ("~/notes.txt", "/etc/hosts", "/usr/bin/ls", "~/.bashrc", "/srv/x"):
        found = judge(json.dumps({"path": path, "content": ""}), {})
        assert isinstance(found.verdict, Ask), path
        assert found.capabilities == frozenset({Capability.WRITE, Capability.LASTING})
    read = house.tools["read_file"].judge
    private = frozenset({Capability.READ_PRIVATE})
    assert read('{"path": "~/notes.txt"}', {}).capabilities == private
    assert read('{"path": "/etc/hosts"}', {}).capabilities is None


async def test_pol_11_the_labels_say_where_a_text_came_from(house: House) -> None:
    (house.home / "notes.txt").write_text("private")
    (house.work / "plain.txt").write_text("plain")
    (house.work / ".env").write_text("KEY=x")
    assert (await house.do("read_file", path="~/notes.txt")).labels == ("private",)
    assert (await house.do("read_file", path="plain.txt")).labels == ()
    assert (await house.do("read_file", path=".env")).labels == ("private", "secret")


async def test_path_02_only_plain_files_of_the_workspace_are_attached(house: House) -> None:
    work = house.work
    (work / "good.txt").write_text("hello")
    (work / "link").symlink_to(house.ours / ".env")
    (work / "out").symlink_to("/etc/passwd")
    (work / "environ").symlink_to("/proc/self/environ")
    (work / "twin").hardlink_to(house.ours / ".env")
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(work / "sock"))
    with (work / "large").open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    hostile = (
        *("/etc/passwd", "../../notes.txt", "file:///etc/passwd", "\\\\host\\share\\x", "link"),
        *("out", "environ", "/proc/self/environ", "twin", "pipe", "sock", "/dev/zero", "large"),
        *(".", "~/.ssh/id_ed25519", "MEDIA:/etc/passwd", "/tmp/x", "a\x00b"),
    )
    (house.home / "notes.txt").write_text(CANARY)
    for name in hostile:
        with pytest.raises((ToolFailed, Rejected)):
            await house.do("send_message", target="plaza:12345", text="see", files=[name])
        with pytest.raises((ToolFailed, Rejected)):
            await house.do("send_message", target="plaza:12345", files=["good.txt", name])
    assert house.accepted == []
    await house.do("send_message", target="plaza:12345", files=["good.txt"])
    [sent] = house.accepted
    assert [media.name for media in sent.media] == ["good.txt"]


async def until(holds: Callable[[], bool], limit_s: float = 30.0) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        await asyncio.sleep(0.01)


class Liar:
    """A model that writes what other programs treat as an order to attach a file."""

    name = "double:liar"
    text = ""

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        return Answer(text=self.text)

    async def aclose(self) -> None:
        return None


@pytest.mark.parametrize(
    "text",
    [
        "MEDIA:/etc/passwd",
        "MEDIA:../../.env",
        "![x](file:///etc/passwd)",
        "[[attach:/proc/self/environ]]",
        "MEDIA:\\\\host\\share\\x",
    ],
)
async def test_path_02_a_path_in_a_model_s_text_is_text(tmp_path: Path, text: str) -> None:
    plaza, liar = Plaza(), Liar()
    plaza.open.set()
    liar.text = text
    store = await open_sqlite(tmp_path / "hermes.db", clock=time.time)
    parts = Parts(
        store=store,
        provider=liar,
        tools=StaticToolset(),
        channels=[plaza],
        screens={"plaza": plaza},
        media=FileMediaStore(tmp_path / "media"),
    )
    ready, before = asyncio.Event(), asyncio.all_tasks()
    life = asyncio.create_task(serving(parts, receivers=[plaza]).run(ready.set, limit_s=0.3))
    try:
        await asyncio.wait_for(ready.wait(), 30)
        await plaza.say(1, "hello")
        await until(lambda: plaza.shows() == [text])
    finally:
        doomed = asyncio.all_tasks() - before - {asyncio.current_task()}
        for task in doomed:
            task.cancel()
        await asyncio.gather(life, *doomed, return_exceptions=True)
        await store.upkeep.close()
    assert not (tmp_path / "media").exists()
