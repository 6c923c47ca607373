"""Reviews of a conversation on the real process: silent, once, and after any crash."""

import asyncio
from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.process.gateway import GatewayProcess, gateway

LOOKS_BACK = "You look back at a conversation"
FACT = "The garden is watered on Mondays."


def looks_back(asked: Asked) -> bool:
    return LOOKS_BACK in asked.everything


def keeps(asked: Asked) -> Says:
    if not looks_back(asked):
        return Says(f"heard {asked.said}")
    if asked.results:
        return Says("kept")
    fact = {"action": "add", "target": "memory", "content": FACT}
    return Says(calls=(("memory", fact),))


def kept(here: GatewayProcess) -> int:
    file = here.home / "memories" / "MEMORY.md"
    return file.read_text(encoding="utf-8").count(FACT) if file.exists() else 0


@pytest.mark.setting("memory.nudge_turns")
async def test_after_some_turns_the_agent_keeps_what_is_worth_it_and_says_nothing(
    tmp_path: Path,
) -> None:
    async with Model(keeps).up() as model, gateway(tmp_path, model) as here:
        here.configure(memory={"nudge_turns": 2})
        await here.start()
        for n in (1, 2):
            assert (await here.say(f"number {n}", key=f"k{n}")).text == f"heard number {n}"
        await here.until(lambda: _is(kept(here) == 1))
        asked = [one for one in model.asked if looks_back(one)]
        tools = {tool["function"]["name"] for tool in asked[0].body["tools"]}
        assert tools == {"memory", "skills_list", "skill_view", "skill_manage"}
        rows = await here.get("/v1/sessions/main/messages")
        said = [row["text"] for row in rows]
        assert said == ["number 1", "heard number 1", "number 2", "heard number 2"]
        assert LOOKS_BACK not in str(rows), "it never speaks as the person"
        assert (await here.say("number 3", "other", key="k3")).status == 200
        assert FACT in model.asked[-1].messages[0]["content"], "the next conversation knows it"
        assert (await here.say("number 4", key="k4")).status == 200
        assert FACT not in model.asked[-1].messages[0]["content"], "this one keeps its prompt"


async def test_killed_while_it_looks_back_it_keeps_it_once(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        async def rule(asked: Asked) -> Says:
            if looks_back(asked) and asked.results:
                await model.hold("kept")
            return keeps(asked)

        model.rule = rule
        here.configure(memory={"nudge_turns": 1})
        await here.start()
        await here.say("hello")
        await model.reached("kept")
        await here.kill()
        model.shut("kept")
        await here.start()
        await model.reached("kept")
        model.open("kept")
        await asyncio.sleep(0.5)
        assert kept(here) == 1


async def _is(holds: bool) -> bool:
    return holds
