"""`memory.…` and `skills.…`: what the agent keeps, who else reads along, what it may write."""

from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.doubles.honcho import HonchoDouble, serving
from tests.process.gateway import gateway
from tests.settings.chats import chat, request

LOOKS_BACK = "a task of many steps that worked"
SKILL = {
    "action": "create",
    "name": "water-plants",
    "why": "it worked",
    "description": "Waters the plants.",
    "instructions": "Take the BLUE can.",
}


def remembered(folder: Path, name: str, count: int) -> None:
    file = folder / "home" / "memories" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"- {name} fact {n:03}\n" for n in range(count)), encoding="utf-8")


@pytest.mark.setting("memory.enabled")
async def test_without_memory_the_model_neither_reads_nor_writes_it(tmp_path: Path) -> None:
    remembered(tmp_path, "MEMORY.md", 1)
    async with Model().up() as model:
        before = await request(tmp_path, model)
        after = await request(tmp_path, model, memory={"enabled": False})
        assert "MEMORY.md fact 000" in before.system
        assert "MEMORY.md fact 000" not in after.system
        assert before.tools - after.tools == {"memory"}


@pytest.mark.setting("memory.memory_chars_max", "memory.user_chars_max")
async def test_a_prompt_has_room_for_so_much_memory(tmp_path: Path) -> None:
    remembered(tmp_path, "MEMORY.md", 40)
    remembered(tmp_path, "USER.md", 40)

    def facts(asked: Asked) -> tuple[int, int]:
        return asked.system.count("MEMORY.md fact"), asked.system.count("USER.md fact")

    async with Model().up() as model:
        assert facts(await request(tmp_path, model)) == (40, 40)
        limits = {"memory_chars_max": 200, "user_chars_max": 400}
        memory, user = facts(await request(tmp_path, model, memory=limits))
        assert 0 < memory < user < 40


@pytest.mark.setting(
    "memory.provider",
    "memory.honcho.base_url",
    "memory.honcho.api_key",
    "memory.honcho.workspace",
)
async def test_with_honcho_the_service_of_the_settings_reads_along(tmp_path: Path) -> None:
    with serving(HonchoDouble()) as honcho:
        chosen = {"base_url": honcho.url, "api_key": "honcho-key-of-mine", "workspace": "garden"}
        async with Model().up() as model, gateway(tmp_path, model) as here:
            here.configure(memory={"provider": "honcho", "honcho": chosen})
            await here.start()
            await here.say("the roses are red")

            async def told() -> bool:
                return "the roses are red" in str(honcho.asked)

            await here.until(told, 60.0)
        assert all("/workspaces/garden" in path for path, _ in honcho.asked[1:])
        assert honcho.asked[0][1]["id"] == "garden"
        assert set(honcho.keys) == {"Bearer honcho-key-of-mine"}


@pytest.mark.setting("skills.disabled")
async def test_a_skill_that_is_disabled_is_not_in_the_prompt(tmp_path: Path) -> None:
    file = tmp_path / "home" / "skills" / "water-plants" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: water-plants\ndescription: Waters.\n---\nTake the can.\n", "utf-8")
    async with Model().up() as model:
        assert "water-plants" in (await request(tmp_path, model)).system
        disabled = {"disabled": ["water-plants"]}
        assert "water-plants" not in (await request(tmp_path, model, skills=disabled)).system


@pytest.mark.setting("skills.agent_writes")
@pytest.mark.parametrize("agent_writes", ["propose", "apply"])
async def test_a_skill_of_the_agent_is_proposed_or_applied(
    tmp_path: Path, agent_writes: str
) -> None:
    def rule(asked: Asked) -> Says:
        return Says("done") if asked.results else Says(calls=(("skill_manage", SKILL),))

    async with Model(rule).up() as model:
        here = chat(tmp_path, model, skills={"agent_writes": agent_writes})
        assert (await here.ask("learn")).out == "done\n"
        names = [row["name"] for row in await here.hermes("skills", "list", "--json")]
        assert ("water-plants" in names) == (agent_writes == "apply")


@pytest.mark.setting("skills.nudge_calls")
async def test_after_a_task_with_so_many_calls_the_agent_looks_back(tmp_path: Path) -> None:
    def rule(asked: Asked) -> Says:
        calls = () if asked.results else (("skills_list", {}), ("skills_list", {}))
        return Says("done") if LOOKS_BACK in asked.everything or not calls else Says(calls=calls)

    async with Model(rule).up() as model, gateway(tmp_path, model) as here:
        here.configure(skills={"nudge_calls": 2}, memory={"nudge_turns": 0})
        await here.start()
        await here.say("water the garden")

        async def looked_back() -> bool:
            return any(LOOKS_BACK in asked.everything for asked in model.asked)

        await here.until(looked_back, 60.0)
