"""Skills on the real process: run by name, written while it runs, proposed and applied."""

from pathlib import Path

from hermes.testing.model import Asked, Model, Says
from tests.process.gateway import gateway

TEXT = """\
---
name: water-plants
description: Waters the plants.
---
Take the BLUE can.
"""


def plain(asked: Asked) -> Says:
    return Says("done")


async def test_a_skill_is_run_by_its_name_also_one_that_came_after_the_start(
    tmp_path: Path,
) -> None:
    async with Model(plain).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        folder = here.home / "skills" / "water-plants"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(TEXT, encoding="utf-8")
        got = await here.say("/water-plants only the roses", key="one")
        assert got.text == "done"
        assert "BLUE can" in model.asked[-1].said
        assert "only the roses" in model.asked[-1].said
        heard = len(model.asked)
        again = await here.say("/water-plants only the roses", key="one")
        assert (again.text, len(model.asked)) == ("done", heard), "the same key joins it"
        await here.say("hello", "new")
        assert "water-plants" in model.asked[-1].messages[0]["content"]


async def test_what_the_agent_proposes_is_applied_by_the_owner_and_taken_back(
    tmp_path: Path,
) -> None:
    def rule(asked: Asked) -> Says:
        if asked.said == "learn" and not asked.results:
            skill = {
                "action": "create",
                "name": "water-plants",
                "why": "it worked",
                "description": "Waters the plants.",
                "instructions": "Take the BLUE can.",
            }
            return Says(calls=(("skill_manage", skill),))
        return Says("done")

    async with Model(rule).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("learn")
        names = [row["name"] for row in await here.hermes("skills", "list", "--json")]
        assert "water-plants" not in names, "a proposal changes nothing"
        assert "BLUE can" in await here.hermes("skills", "diff", "water-plants")
        await here.hermes("skills", "approve", "water-plants")
        names = [row["name"] for row in await here.hermes("skills", "list", "--json")]
        assert "water-plants" in names
        await here.hermes("skills", "undo", "water-plants")
        names = [row["name"] for row in await here.hermes("skills", "list", "--json")]
        assert "water-plants" not in names
        model.check()
