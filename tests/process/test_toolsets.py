"""Tools that the owner switches off: what a model is told of, and what it can still do."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.testing.model import Asked, Model, Says
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import gateway

ANN = 7
OFF = ("terminal", "process", "read_file", "write_file", "patch", "search_files")


def told(asked: Asked) -> list[str]:
    """The tools of a request, by name."""
    return [tool["function"]["name"] for tool in asked.body.get("tools", [])]


def listed(asked: Asked) -> str:
    return json.dumps(asked.body["tools"], ensure_ascii=False)


def stubborn(mark: Path) -> Any:
    """A model that runs a command and writes a file whenever it is told `go`, offered or not."""

    def rule(asked: Asked) -> Says:
        if asked.said != "go":
            return Says(f"You said: {asked.said}")
        if asked.results:
            return Says("\n".join(asked.results))
        ran, wrote = mark / "ran", mark / "wrote"
        return Says(
            calls=(
                ("terminal", {"command": f"touch {ran}"}),
                ("write_file", {"path": str(wrote), "content": "x"}),
            )
        )

    return rule


async def test_tools_that_are_switched_off_are_not_offered_and_do_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "marks"
    mark.mkdir()
    async with Model(rule=stubborn(mark)).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello", "before")
        assert set(OFF) < set(told(model.asked[-1]))
        whole = listed(model.asked[-1])
        await here.hermes("tools", "disable", "terminal", "files")
        await here.say("hello", "after")
        assert not set(OFF) & set(told(model.asked[-1])), "a new conversation is not told of them"
        assert "todo" in told(model.asked[-1])
        for session in ("after", "before"):
            said = (await here.say("go", session)).text
            assert said.count("is switched off") == 2, said
            assert "hermes tools enable terminal" in said
        assert listed(model.asked[-1]) == whole, "one that had begun keeps its prefix"
        assert list(mark.iterdir()) == []


async def test_a_tool_can_be_off_on_one_platform_and_on_elsewhere(tmp_path: Path) -> None:
    async with Model().up() as model, BotApi() as api, gateway(tmp_path, model) as here:
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN]}
        platforms = {"api": {"disabled": ["terminal"]}, "telegram": {"disabled": ["files"]}}
        here.configure(platforms={"telegram": telegram}, tools={"platforms": platforms})
        await here.start()
        await here.say("from api")
        await here.hermes("chat", "-q", "from local")
        api.say("from telegram", chat=ANN, user=ANN)

        async def heard() -> bool:
            return len(model.asked) == 3

        await here.until(heard, 60.0)
        found = {asked.said.split()[-1]: set(told(asked)) for asked in model.asked}
        assert set(OFF) < found["local"]
        assert found["local"] - found["api"] == {"terminal", "process"}
        assert found["local"] - found["telegram"] == set(OFF) - {"terminal", "process"}


async def test_a_conversation_keeps_its_list_of_tools_over_kills_and_other_settings(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "marks"
    mark.mkdir()
    async with Model(rule=stubborn(mark)).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello")
        whole = listed(model.asked[-1])
        await here.kill()
        here.configure(tools={"disabled": ["terminal", "files", "web"]}, memory={"enabled": False})
        await here.start()
        said = (await here.say("go")).text
        assert listed(model.asked[-1]) == whole, "the same bytes, whatever is set now"
        assert said.count("is switched off") == 2
        await here.kill()
        here.configure(tools={"disabled": []})
        await here.start()
        await here.say("again")
        assert listed(model.asked[-1]) == whole
        await here.say("/new")
        await here.say("hello")
        assert set(json.loads(whole)[0]) == set(model.asked[-1].body["tools"][0])
        assert "memory" not in told(model.asked[-1])
        assert list(mark.iterdir()) == []


async def test_a_tool_that_is_gone_says_so_when_it_is_called(tmp_path: Path) -> None:
    def remember(asked: Asked) -> Says:
        if asked.said != "go":
            return Says("ok")
        if asked.results:
            return Says(asked.results[-1])
        return Says(calls=(("memory", {"action": "list"}),))

    async with Model(rule=remember).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello")
        assert "memory" in told(model.asked[-1])
        await here.stop()
        here.configure(memory={"enabled": False})
        await here.start()
        said = (await here.say("go")).text
        assert "memory" in told(model.asked[-1])
        assert "no longer there" in said


async def test_a_command_that_runs_when_its_tool_is_switched_off_is_looked_after(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"

    def waits(asked: Asked) -> Says:
        if asked.results:
            return Says(asked.results[-1])
        wait = f"touch {gate}.1; echo begun; while [ ! -e {gate} ]; do sleep 0.05; done; echo ended"
        return Says(calls=(("terminal", {"command": wait}),))

    async with Model(rule=waits).up() as model, gateway(tmp_path, model) as here:
        here.configure(
            approvals={"mode": "allow"}, terminal={"sandbox": "none", "workdir": str(tmp_path)}
        )
        await here.start()
        cut = asyncio.create_task(here.say("go", limit_s=90.0))

        async def running() -> bool:
            return any("begun" in f.read_text() for f in here.home.glob("calls/*/output"))

        await here.until(running, 60.0)
        await here.kill()
        with pytest.raises(httpx2.TransportError):
            await cut
        here.configure(tools={"disabled": ["terminal"]})
        await here.start()
        gate.touch()

        async def read() -> bool:
            return len(model.asked) == 2

        await here.until(read, 60.0)
        assert "ended" in model.asked[-1].results[-1], "it had begun, so its outcome is told"
