"""`agent.…`, `compression.…`, `budgets.…`, `prices`: who the agent is, and when it must end."""

from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.process.gateway import gateway
from tests.settings.chats import chat, request

SUMS_UP = "You sum up a conversation"
LONG = "long words " * 800


def restless(_asked: Asked) -> Says:
    """It never answers."""
    return Says(calls=(("skills_list", {}),), read=95)


@pytest.mark.setting("agent.steps_max")
async def test_a_turn_ends_after_that_many_steps(tmp_path: Path) -> None:
    async with Model(restless).up() as model:
        done = await chat(tmp_path, model, agent={"steps_max": 2}).ask("hello")
        assert "I stopped after 2 steps" in done.out
        assert len(model.asked) == 2


@pytest.mark.setting("agent.tokens_max")
async def test_a_turn_ends_after_that_many_tokens(tmp_path: Path) -> None:
    async with Model(restless).up() as model:
        done = await chat(tmp_path, model, agent={"tokens_max": 250}).ask("hello")
        assert "I stopped after 300 tokens" in done.out
        assert len(model.asked) == 3


@pytest.mark.setting("agent.personality", "agent.personalities", "agent.trusted_dirs")
async def test_the_prompt_is_the_one_that_the_settings_ask_for(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Water the roses.", encoding="utf-8")
    async with Model().up() as model:
        before = (await request(tmp_path, model)).system
        assert "not the owner's words" in before
        butler = {"personality": "butler", "personalities": {"butler": "Very well, sir."}}
        agent = {**butler, "trusted_dirs": [str(tmp_path)]}
        after = (await request(tmp_path, model, agent=agent)).system
        assert "Very well, sir." not in before
        assert "Very well, sir." in after
        assert "that the owner trusts" in after
        assert "not the owner's words" not in after


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def summed_up(folder: Path, keep: float) -> tuple[list[Asked], Asked]:
    """Each request for a summary, and the last one that a person made."""

    def rule(asked: Asked) -> Says:
        if asked.system.startswith(SUMS_UP):
            return Says("## Finished\n- the garden was watered")
        return Says(f"Yes: {LONG}", read=len(asked.everything) // 4)

    async with Model(rule).up() as model, gateway(folder, model) as here:
        here.configure(
            agent={"small_model": "custom:small"}, compression={"at": 0.04, "keep": keep}
        )
        await here.start()
        for n in range(5):
            assert (await here.say(f"water the garden {n}")).status == 200
        found = [asked for asked in model.asked if asked.system.startswith(SUMS_UP)]
        return found, [asked for asked in model.asked if asked not in found][-1]


@pytest.mark.setting("compression.at", "compression.keep", "agent.small_model")
async def test_a_conversation_is_summed_up_when_by_whom_and_as_far_as_is_set(
    tmp_path: Path,
) -> None:
    few, last_of_few = await summed_up(made(tmp_path / "few"), 0.001)
    many, last_of_many = await summed_up(made(tmp_path / "many"), 0.03)
    assert few, "4% of what the model can read is far below the usual share"
    assert many
    assert {asked.body["model"] for asked in (*few, *many)} == {"small"}
    assert last_of_few.body["model"] == "double"
    assert len(last_of_few.messages) < len(last_of_many.messages)


def dear(asked: Asked) -> Says:
    return Says(f"heard {asked.said}", read=95)  # and 5 written


@pytest.mark.parametrize(
    ("settings", "sessions", "told"),
    [
        pytest.param(
            {"budgets": {"session_tokens": 150}},
            ("a", "a", "a"),
            "budgets.session_tokens is 150",
            marks=pytest.mark.setting("budgets.session_tokens"),
        ),
        pytest.param(
            {"budgets": {"person_day_tokens": 150}},
            ("a", "b", "c"),
            "budgets.person_day_tokens is 150",
            marks=pytest.mark.setting("budgets.person_day_tokens"),
        ),
        pytest.param(
            # An answer costs a bit more than a dollar.
            {
                "budgets": {"day_cost": 2.0},
                "prices": {"double": {"input": 10_000.0, "output": 20_000.0}},
            },
            ("a", "b", "c"),
            "budgets.day_cost is 2",
            marks=pytest.mark.setting("budgets.day_cost", "prices"),
        ),
    ],
)
async def test_what_is_spent_ends_at_its_budget(
    tmp_path: Path, settings: dict[str, Any], sessions: tuple[str, ...], told: str
) -> None:
    async with Model(dear).up() as model, gateway(tmp_path, model, **settings) as here:
        await here.start()
        *first, last = [(await here.say("hello", session)).text for session in sessions]
        assert first == ["heard hello", "heard hello"]
        assert told in last
        assert len(model.asked) == 2
