"""A script of the agent that wants more than it has: every kind of box, and the real gateway."""

import asyncio
import os
import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.core.ids import CallId, SessionKey
from hermes.core.messages import TurnOptions
from hermes.core.ports import Answer, ModelRequest
from hermes.ports.sandbox import Sandbox
from hermes.ports.terminal import CommandLaunch
from hermes.terminals.local import LocalTerminal
from hermes.terminals.register import CommandLimits
from hermes.terminals.scripts import LocalScripts
from hermes.testing.model import Asked, Model, Says
from hermes.tools.code.script import SCRIPT, CodeLimits, Scripts
from tests.attacks.victim import CANARY, Victim
from tests.process.gateway import gateway
from tests.process.looks import UNASKED

CALL, OTHER = CallId("turn-1"), CallId("turn-2")
PYTHON = "/usr/bin/python3"
GREEDY = """
import ctypes, os, socket
from hermes_tools import call

def tries(name, work):
    try:
        print(name, "GOT", work())
    except BaseException as error:
        print(name, "refused", type(error).__name__)

def path_of(*parts):
    return os.path.join({home!r}, *parts)

tries("shadow", lambda: open("/etc/shadow").read(3))
tries("env", lambda: open(path_of(".env")).read(3))
tries("db", lambda: open(path_of("hermes.db"), "rb").read(3))
tries("asks", lambda: os.open(path_of("calls", "turn-2.script", "asks"), os.O_RDWR))
tries("answers", lambda: os.open(path_of("calls", "turn-2.script", "answers"), os.O_RDWR))
tries("code", lambda: open(path_of("calls", "turn-1.script", "code", "script.py"), "w"))
tries("list", lambda: set(os.listdir(path_of("calls"))) != {{"turn-1", "turn-1.script"}} or 1 / 0)
tries("output", lambda: open(path_of("calls", "other", "output")).read(3))
tries("socket", lambda: socket.socket(socket.AF_UNIX))
tries("ptrace", lambda: ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) == 0 or 1 / 0)
tries("kill", lambda: os.kill({pid}, 0))
tries("memory", lambda: open("/proc/{pid}/mem", "rb"))
print("keys", [name for name in os.environ if "KEY" in name or "TOKEN" in name])
print("heard", call("echo", text="still here"))
"""


@pytest.fixture(params=["bubblewrap", "landlock"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def terminal(sandbox: Sandbox, victim: Victim) -> AsyncIterator[LocalTerminal]:
    opened = LocalTerminal(
        victim.ours / "calls",
        environ={**os.environ, "OPENAI_API_KEY": CANARY},
        limits=CommandLimits(grace_s=0.5),
        sandbox=sandbox,
    )
    yield opened
    await opened.stop(CALL, "stopped")
    await opened.close()


async def test_sbx_a_script_gets_its_own_pipes_and_nothing_else(
    terminal: LocalTerminal, victim: Victim
) -> None:
    folders = LocalScripts(victim.ours / "calls")
    folders.prepare(OTHER, "another script", "", 0.0)
    code = GREEDY.format(home=str(victim.ours), pid=os.getpid())
    files = folders.prepare(CALL, code, "", 0.0)
    launch = CommandLaunch(
        id=CALL,
        session=SessionKey("s"),
        command=shlex.join((PYTHON, *files.arguments)),
        workdir=str(victim.workspace),
        readable=files.readable,
        pipes=files.pipes,
    )
    await terminal.launch(launch)
    scripts = Scripts(terminal, folders, CodeLimits())
    model = scripts.model(f"{SCRIPT}{CALL}")

    async def asked(request: ModelRequest) -> Answer:
        async with asyncio.timeout(60):
            return await model.ask(request, lambda _glimpse: None)

    first = await asked(ModelRequest(system="", lines=()))
    assert [raw.tool for raw in first.calls] == ["echo"], first.text
    await scripts.leave(TurnOptions(model=f"{SCRIPT}{CALL}"))
    seen = await terminal.look(CALL)
    assert seen is not None
    text = (await terminal.read(CALL, 0, 100_000)).decode()
    assert "GOT" not in text, text
    assert text.count("refused") == 12, text
    assert "keys []" in text
    assert CANARY not in text


HUNGRY = """
from hermes_tools import call, ToolError
import hermes_tools
for name in ("memory", "send_message", "write_file", "web_extract", "todo"):
    try:
        call(name, action="list", target="home", text="x", path="x", content="x", urls=[])
        print(name, "GOT")
    except ToolError as error:
        print(name, "refused", hasattr(hermes_tools, name))
"""


async def test_pol_a_script_has_no_tool_that_its_turn_has_not(tmp_path: Path) -> None:
    """Two are off, and one of them only on the platform where the person speaks."""

    def rule(asked: Asked) -> Says:
        if asked.results:
            return Says(asked.results[-1])
        return Says(calls=(("execute_code", {"code": HUNGRY}),))

    off = {
        "disabled": ["web_extract", "sending"],
        "platforms": {"api": {"disabled": ["write_file"]}},
    }
    settings = {**UNASKED, "tools": off}
    async with Model(rule).up() as model, gateway(tmp_path, model, **settings) as here:
        await here.start()
        text = (await here.say("go", limit_s=60)).text
        for name in ("memory", "send_message", "write_file", "web_extract"):
            assert f"{name} refused False" in text
        assert "todo" in text
        assert not (here.home / "workspace" / "x").exists()
