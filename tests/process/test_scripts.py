"""C86 to C89: scripts that call tools, across kills of the gateway and of the script."""

import asyncio
import contextlib
import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Rule, Says
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import UNASKED, effects, gate, running_call, steps, tried
from tests.settings.chats import request

CALLS = 30 if os.environ.get("HERMES_SOAK") else 4
PLAIN = """
from hermes_tools import call, parallel, read_file, terminal, ToolError, write_file
for n in range(3):
    write_file(f"out{n}.txt", f"text {n}\\n")
texts = parallel([("read_file", {"path": f"out{n}.txt"}) for n in range(3)])
print(sum("text" in text for text in texts), terminal("echo hi").splitlines()[0])
write_file("long.txt", "a line of a long file\\n" * 5000)
print(read_file("long.txt").count("a line"), terminal("cat long.txt").count("a line"))
for name, arguments in (
    ("execute_code", {"code": "1"}),
    ("clarify", {"question": "?"}),
    ("terminal", {"command": "sleep 9", "background": True}),
    ("nonsense", {}),
):
    try:
        call(name, **arguments)
    except ToolError as error:
        print("refused", name)
raise SystemExit(3)
"""
THREADS = """
import threading
from hermes_tools import terminal, write_file
done = []
def work(n):
    write_file(f"thread{n}.txt", str(n))
    terminal(f"echo t{n} >> threads")
    done.append(n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
print("threads", len(done), sorted(done) == list(range(16)))
"""
BAD = "from hermes_tools import read_file\nread_file('there is none')\n"
STOPPED = """
from hermes_tools import terminal
print("begun", flush=True)
terminal("echo stopped >> effects; sleep 300")
"""
STEPS = f"""
from hermes_tools import terminal
for n in range({CALLS}):
    terminal(f"echo step{{n}} >> effects; until [ -e go-step{{n}} ]; do sleep 0.02; done")
print("all", {CALLS})
"""
CODES = {"plain": PLAIN, "threads": THREADS, "bad": BAD, "stopped": STOPPED, "steps": STEPS}


def runs(codes: dict[str, str]) -> Rule:
    """Run the script that the person names, then say what came back."""

    def rule(asked: Asked) -> Says:
        if asked.results:
            return Says(f"It said: {asked.results[-1]}")
        return Says(calls=(("execute_code", {"code": codes[asked.said.split()[0]]}),))

    return rule


async def test_c86_only_what_a_script_prints_comes_back_and_its_calls_are_calls(
    tmp_path: Path,
) -> None:
    async with Model(runs(CODES)).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        names = ("plain", "threads", "bad")
        said = await asyncio.gather(*(here.say(name, name, limit_s=120) for name in names))
        plain, threads, bad = (each.text for each in said)
        refused = ("execute_code", "clarify", "terminal", "nonsense")
        assert "3 hi\n5000 5000\n" + "".join(f"refused {name}\n" for name in refused) in plain
        assert "exit status 3" in plain
        assert "write_file 4, read_file 4, terminal 3 (1 failed)" in plain
        assert "threads 16 True" in threads
        assert sorted(_lines(here, "threads")) == sorted(f"t{n}" for n in range(16))
        assert 'File "<script>", line 2' in bad
        assert "ToolError" in bad
        assert len(model.asked) == 6, "a script is one round trip"
        outcomes = [step["outcome"] for step in await steps(here, said[2].turn)]
        assert "failed" in outcomes
        told = await here.hermes("turns", "show", said[0].turn, "--json")
        nested = [
            step["name"] for step in told["steps"] if "calls" in step for step in step["calls"]
        ]
        assert nested[:7] == [*["write_file"] * 3, *["read_file"] * 3, "terminal"]
        assert "2.4 " in await here.hermes("turns", "show", said[0].turn)
        turns = await here.hermes("turns", "list", "--json")
        assert {turn["state"] for turn in turns} == {"answered"}


async def test_c86_a_stop_ends_the_script_and_its_running_call(tmp_path: Path) -> None:
    async with Model(runs(CODES)).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        asking = asyncio.create_task(tried(here, "stopped"))
        nested = await running_call(here, "sleep 300")
        script = await running_call(here, "hermes_tools.py")
        await here.say("/stop")
        for call in (nested, script):
            await here.until(lambda call=call: _is_dead(call), 60.0)  # type: ignore[misc]
        await asking
        assert effects(here) == ["stopped"]


async def test_c87_a_gateway_that_dies_at_every_call_of_a_script_repeats_none(
    tmp_path: Path,
) -> None:
    """After two kills it is stopped in order: three crashed boots in a row hold back resumes."""
    settings = {**UNASKED, "gateway": {"drain_timeout_s": 0.5}}
    async with Model(runs(CODES)).up() as model, gateway(tmp_path, model, **settings) as here:
        await here.start()
        asking = asyncio.create_task(tried(here, "steps", key="once"))
        for n in range(CALLS):
            await here.until(lambda n=n: _has(here, f"step{n}"), 60.0)  # type: ignore[misc]
            await (here.stop() if n % 3 == 2 else here.kill())
            gate(here, f"step{n}").touch()
            await here.start()
        await asking
        done = await here.say("steps", key="once", limit_s=120)
        assert f"all {CALLS}" in done.text, here.output()
        assert Counter(effects(here)) == {f"step{n}": 1 for n in range(CALLS)}
        assert len(model.asked) == 2, "the script went on, and no model was asked again"


async def test_c88_a_script_that_dies_with_everything_is_unknown_and_not_run_again(
    tmp_path: Path,
) -> None:
    async with Model(runs(CODES)).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        asking = asyncio.create_task(tried(here, "steps", key="once"))
        await here.until(lambda: _has(here, "step0"), 60.0)
        script = await running_call(here, "hermes_tools.py")
        await here.kill()
        _kill_all(script)
        gate(here, "step0").touch()
        await here.start()
        await asking
        done = await here.say("steps", key="once", limit_s=120)
        assert "outcome unknown" in done.text
        assert "1. terminal" in done.text
        assert effects(here) == ["step0"]


ASKS = """
from hermes_tools import terminal, ToolError
print(terminal("echo fine").splitlines()[0])
print(terminal("touch made.txt && python3 -c 'print(6*7)'").splitlines()[0])
try:
    terminal("touch never.txt && python3 -c 'print(7*7)'")
except ToolError as error:
    print("no:", "not" in str(error))
"""


async def test_c89_a_call_inside_a_script_is_asked_about_with_its_line_and_a_no_is_an_exception(
    tmp_path: Path,
) -> None:
    codes = {"asks": ASKS, "again": "print('again', open('.env').read())"}
    async with (
        Model(runs(codes)).up() as model,
        gateway(tmp_path, model, code={"timeout_s": 30}) as here,
    ):
        await here.start()
        asking = asyncio.create_task(tried(here, "asks", key="once"))
        first = await _question(here, 1)
        assert first["tool"] == "execute_code"
        assert "terminal" in first["preview"]
        await here.post(f"/v1/approvals/{first['id']}", answer="folder")
        (here.home / "workspace" / ".env").write_text("KEY=secret\n", encoding="utf-8")
        second = await _question(here, 2)
        assert (second["tool"], second["session"] != first["session"]) == ("terminal", True)
        assert "Called by my script, line 4" in second["preview"]
        await here.kill()
        await here.start()
        await here.post(f"/v1/approvals/{second['id']}", answer="approve")
        third = await _question(here, 3)
        await here.post(f"/v1/approvals/{third['id']}", answer="deny")
        await asking
        done = await here.say("asks", key="once", limit_s=120)
        assert "fine\n42\nno: True" in done.text
        assert not (here.home / "workspace" / "never.txt").exists()
        again = await here.say("again", "two", limit_s=120)
        assert "It said: again" in again.text, "all scripts of the folder were allowed"
        assert "secret" not in again.text, "nobody looked at it, so private files look empty"
        assert len(await here.get("/v1/approvals?all=1")) == 3


LOOPS = """
from hermes_tools import terminal, LimitReached
try:
    for n in range(9):
        terminal("true")
except LimitReached as error:
    print("limit", n, "code.calls_max" in str(error))
print("x" * 5000)
import sys, time
print(sys.prefix != sys.base_prefix, flush=True)
time.sleep(600)
"""


@pytest.mark.setting("code.timeout_s", "code.calls_max", "code.output_bytes", "code.python")
async def test_the_limits_of_scripts_are_those_of_the_settings(tmp_path: Path) -> None:
    python = tmp_path / "py" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/usr/bin/python3")
    (tmp_path / "py" / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    code = {"timeout_s": 6.0, "calls_max": 3, "output_bytes": 2_000, "python": str(python)}
    rule = runs({"loops": LOOPS})
    async with (
        Model(rule).up() as model,
        gateway(tmp_path, model, **UNASKED, code=code) as here,
    ):
        await here.start()
        text = (await here.say("loops", limit_s=120)).text
        assert "limit 3 True" in text
        assert "bytes" in text
        assert len(text) < 4_000
        assert "True\n" in text
        assert "TimeoutError: the script ran for 6 s" in text


@pytest.mark.setting("code.enabled")
async def test_without_scripts_the_model_is_told_of_none(tmp_path: Path) -> None:
    (tmp_path / "on").mkdir()
    (tmp_path / "off").mkdir()
    async with Model().up() as model:
        assert "execute_code" in (await request(tmp_path / "on", model)).tools
        off = await request(tmp_path / "off", model, code={"enabled": False})
        assert "execute_code" not in off.tools


async def _question(here: GatewayProcess, number: int) -> Any:
    found: list[Any] = []

    async def asked() -> bool:
        rows = await here.get("/v1/approvals?all=1")
        found[:] = [row for row in rows if row["state"] == "pending"]
        return len(rows) == number and bool(found)

    await here.until(asked, 60.0)
    return found[0]


async def _has(here: GatewayProcess, word: str) -> bool:
    return word in effects(here)


async def _is_dead(call: Path) -> bool:
    pid = json.loads("[" + (call / "begun").read_text(encoding="utf-8").split("\n")[0] + "]")[0]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, 0)
        return False
    return True


def _kill_all(call: Path) -> None:
    pid = int((call / "begun").read_text(encoding="utf-8").split("\n")[0])
    os.killpg(pid, signal.SIGKILL)


def _lines(here: GatewayProcess, name: str) -> list[str]:
    return (here.home / "workspace" / name).read_text(encoding="utf-8").splitlines()
