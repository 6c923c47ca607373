"""Questions to the owner, from outside: a real gateway, killed at any instant (POL-4 to POL-12)."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.testing.model import Asked, Model, Says, terminal
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import effects, idle, rows, tried

EFFECT = 'python3 -c \'open("effects", "a").write("done\\n")\''  # what nobody can judge
WAIT = {"approvals": {"mode": "ask"}}


def works(model: Model, command: str = EFFECT) -> None:
    """Use a rule: `work` runs the command, then tells its result."""

    def rule(asked: Asked) -> Says:
        if "work" in asked.said and not asked.results:
            return Says(calls=(terminal(command),))
        return Says(f"It came to: {asked.results[-1] if asked.results else 'nothing'}")

    model.rule = rule


async def recorded(here: GatewayProcess) -> list[Any]:
    return list(await here.hermes("audit", "show", "--json"))


async def questions(here: GatewayProcess) -> list[Any]:
    return [each for each in await here.get("/v1/approvals") if each["state"] == "pending"]


async def asked(here: GatewayProcess, count: int = 1) -> list[Any]:
    async def waits() -> bool:
        return len(await questions(here)) == count

    await here.until(waits)
    return await questions(here)


async def begun(here: GatewayProcess, session: str = "main") -> Any:
    asking = asyncio.create_task(tried(here, "work", session, key=f"{session}-1"))
    [question] = await asked(here)
    asking.cancel()
    return question


async def test_pol_04_an_approval_survives_a_kill_and_is_used_once(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model)
        await here.start()
        before = await begun(here)
        assert "python3" in before["preview"]
        await here.kill()
        await here.start()
        [question] = await asked(here)
        assert question == before, "the same question, not another one"
        assert effects(here) == []
        await here.post(f"/v1/approvals/{question['id']}", answer="approve")
        await idle(here)
        assert effects(here) == ["done"]
        with pytest.raises(httpx2.HTTPStatusError):
            await here.post(f"/v1/approvals/{question['id']}", answer="approve")
        await here.kill()
        await here.start()
        await idle(here)
        assert effects(here) == ["done"]


async def test_pol_04_a_kill_right_after_the_answer_runs_it_once(tmp_path: Path) -> None:
    """Or, when the death came between the record of the start and the start, says that it cannot
    know."""
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model, EFFECT)
        await here.start()
        done = 0
        for n in range(4):
            question = await begun(here, f"s{n}")
            answering = asyncio.create_task(
                here.post(f"/v1/approvals/{question['id']}", answer="approve")
            )
            await asyncio.sleep(0.01 * n)
            await here.kill()
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            await here.start()
            for left in await questions(here):  # the kill was first, or the answer is being read
                with contextlib.suppress(httpx2.HTTPStatusError):
                    await here.post(f"/v1/approvals/{left['id']}", answer="approve")
            await idle(here, f"s{n}")
            [result] = [row for row in await rows(here, f"s{n}") if row["role"] == "tool"]
            happened = len(effects(here)) - done
            assert happened == 1 or (happened == 0 and result["outcome"] == "unknown"), result
            done += happened
            await here.stop()  # crashes in a row would hold back what is left to do
            await here.start()


async def test_pol_06_a_script_that_was_swapped_after_the_yes_is_not_run(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model, "sh ./notes.txt")
        workspace = here.home / "workspace"
        here.configure()
        workspace.mkdir(mode=0o700)
        (workspace / "notes.txt").write_text("echo fine")
        await here.start()
        question = await begun(here)
        assert "notes.txt as it is now" in question["preview"]
        (workspace / "notes.txt").write_text("echo evil > effects")
        await here.post(f"/v1/approvals/{question['id']}", answer="approve")
        await idle(here)
        result = next(row for row in await rows(here) if row["role"] == "tool")
        assert result["outcome"] == "denied"
        assert "not what the person said yes to" in result["text"]
        assert effects(here) == []


@pytest.mark.setting("approvals.answer_s")
async def test_pol_09_nobody_answers_and_it_is_a_no(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model)
        here.configure(approvals={"answer_s": 0.2})
        await here.start()
        await tried(here, "work", key="1")
        await idle(here)
        result = next(row for row in await rows(here) if row["role"] == "tool")
        assert result["outcome"] == "denied"
        assert "No answer came in time" in result["text"]
        assert effects(here) == []
        assert [each["state"] for each in await here.get("/v1/approvals?all=1")] == ["expired"]


@pytest.mark.setting("approvals.mode")
async def test_pol_09_with_deny_nothing_is_asked_and_nothing_runs(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model)
        here.configure(approvals={"mode": "deny"})
        await here.start()
        answer = await here.say("work")
        assert "I may not ask" in answer.text
        assert await here.get("/v1/approvals?all=1") == []
        assert effects(here) == []


@pytest.mark.setting("approvals.mode")
async def test_with_allow_a_command_runs_in_its_box_without_a_question(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model)
        here.configure(approvals={"mode": "allow"})
        await here.start()
        assert "exit status 0" in (await here.say("work")).text
        assert effects(here) == ["done"]


async def test_pol_12_of_a_yes_and_a_no_one_wins(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model)
        await here.start()
        question = await begun(here)
        path = f"/v1/approvals/{question['id']}"
        answers = [here.post(path, answer=word) for word in ("deny", "approve", "approve", "deny")]
        done = await asyncio.gather(*answers, return_exceptions=True)
        await idle(here)
        won = [each for each in done if not isinstance(each, BaseException)]
        assert len(won) >= 1
        lost = [each for each in done if isinstance(each, httpx2.HTTPStatusError)]
        assert len(won) + len(lost) == len(answers)
        assert all(each.response.status_code in (404, 409) for each in lost)
        [row] = await here.get("/v1/approvals?all=1")
        assert row["state"] in ("used", "denied")
        assert len(effects(here)) == (row["state"] == "used")
        words = [entry["kind"] for entry in await recorded(here)]
        assert words.count("approved") + words.count("refused") == 1, "one of them decided"


async def test_pol_08_an_always_counts_until_it_is_revoked(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        works(model, "rm -rf build/x")
        here.configure()
        (here.home / "workspace" / "build").mkdir(parents=True, mode=0o700)
        await here.start()
        question = await begun(here)
        await here.post(f"/v1/approvals/{question['id']}", answer="always")
        await idle(here)
        assert "exit status 0" in (await here.say("work again")).text
        await here.kill()
        await here.start()
        assert "exit status 0" in (await here.say("work once more")).text
        [grant] = await here.hermes("approvals", "grants", "--json")
        await here.hermes("approvals", "revoke", grant["id"])
        asking = asyncio.create_task(tried(here, "work at last", key="last"))
        await asked(here)
        asking.cancel()
