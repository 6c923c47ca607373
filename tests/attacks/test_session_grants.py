"""“Yes, for this session”, from outside: a real gateway that is killed, and what it must not cover.

The answer is in the journal of one conversation. It is for the owner's own turns there, in the
closed box, and ends with /new.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says, terminal
from tests.attacks.test_approvals import asked, questions, recorded, works
from tests.attacks.test_people import ANN, BOB, ROOM, bot, press, shows
from tests.attacks.test_taint import site
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import effects, idle, tried

SCRIPT = 'open("effects", "a").write("done\\n")\n'


def obeys(model: Model) -> None:
    """Use a rule: `run COMMAND` runs it, then tells its result."""

    def rule(given: Asked) -> Says:
        if given.said.startswith("run ") and not given.results:
            return Says(calls=(terminal(given.said.removeprefix("run ").strip()),))
        return Says(f"It came to: {given.results[-1] if given.results else 'nothing'}")

    model.rule = rule


def furnish(here: GatewayProcess) -> None:
    here.configure()
    workspace = here.home / "workspace"
    (workspace / "inner").mkdir(mode=0o700, parents=True)
    for name in ("work.py", "other.py"):
        (workspace / name).write_text(SCRIPT)


async def must_ask(here: GatewayProcess, command: str, session: str = "main") -> Any:
    """Check that the command needs approval, and refuse it."""
    saying = asyncio.create_task(tried(here, f"run {command}", session))
    [question] = await asked(here)
    await here.post(f"/v1/approvals/{question['id']}", answer="deny")
    await idle(here, session)
    saying.cancel()
    return question


async def allowed_for_session(here: GatewayProcess, command: str) -> Any:
    saying = asyncio.create_task(tried(here, f"run {command}", key="first"))
    [question] = await asked(here)
    assert "“For this session” (until /new)" in question["preview"]
    await here.post(f"/v1/approvals/{question['id']}", answer="session")
    saying.cancel()
    return question


async def test_pol_07_a_yes_for_the_session_survives_a_kill_and_ends_with_the_conversation(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        obeys(model)
        furnish(here)
        await here.start()
        await allowed_for_session(here, "python3 work.py")
        await here.kill()
        await here.start()
        await idle(here)
        before = len(effects(here))
        assert "exit status 0" in (await here.say("run python3 work.py")).text
        assert await questions(here) == []
        assert len(effects(here)) == before + 1
        [row] = [entry["body"] for entry in await recorded(here) if entry["kind"] == "granted"]
        assert row["conversation"] == (await here.session())["id"]
        await here.say("/new")
        await must_ask(here, "python3 work.py")
        assert len(effects(here)) == before + 1


async def test_pol_07_a_yes_for_the_session_covers_no_sibling(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        obeys(model)
        furnish(here)
        await here.start()
        await allowed_for_session(here, "python3 work.py")
        await idle(here)
        for command in (
            "python3 other.py",
            "python3 work.py --force",
            "python3 -c 'print(1)'",
            "A=1 python3 work.py",
            "python3 work.py; python3 other.py",
            "cd inner && python3 work.py",
        ):
            await must_ask(here, command)
        await must_ask(here, "python3 work.py", session="another")
        assert effects(here) == ["done"]


@pytest.mark.setting("terminal.allow_hosts")
async def test_pol_07_with_a_way_out_of_the_box_there_is_no_yes_for_the_session(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        obeys(model)
        furnish(here)
        here.configure(terminal={"allow_hosts": ["files.example"]})
        await here.start()
        saying = asyncio.create_task(tried(here, "run python3 work.py", key="first"))
        [question] = await asked(here)
        assert "For this session" not in question["preview"]
        assert "only to the hosts in terminal.allow_hosts" in question["preview"]
        await here.post(f"/v1/approvals/{question['id']}", answer="session")
        await idle(here)
        saying.cancel()
        await must_ask(here, "python3 work.py")


async def test_pol_07_always_for_a_developers_program_covers_that_script_and_no_other(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        obeys(model)
        furnish(here)
        await here.start()
        saying = asyncio.create_task(tried(here, "run python3 work.py", key="first"))
        [question] = await asked(here)
        assert "“Always” (30 days) allow: `python3 work.py` in this folder" in question["preview"]
        await here.post(f"/v1/approvals/{question['id']}", answer="always")
        await idle(here)
        saying.cancel()
        assert "exit status 0" in (await here.say("run python3 work.py", "another")).text
        await must_ask(here, "python3 other.py")
        assert effects(here) == ["done", "done"]


async def test_pol_07_a_button_allows_it_for_this_chat_and_for_nobody_else_in_the_group(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, model):
        works(model, "python3 work.py")
        furnish(here)
        await here.start()

        async def heard(chat: int, count: int) -> None:
            async def there() -> bool:
                return sum("It came to" in text for text in api.texts(chat)) == count

            await here.until(there)

        api.say("work", chat=ANN, user=ANN)
        await shows(here, api, ANN, "│ python3 work.py")
        press(api, "Yes, for this session")
        await heard(ANN, 1)
        api.say("work", chat=ANN, user=ANN)
        await heard(ANN, 2)
        assert effects(here) == ["done", "done"]
        api.say("work", chat=ROOM, user=BOB)
        await shows(here, api, ROOM, "a group member may not do")
        api.say("work", chat=ROOM, user=ANN)
        await shows(here, api, ROOM, "Run this command?")
        assert effects(here) == ["done", "done"], "the group is another conversation"


async def test_pol_07_after_strangers_words_a_yes_for_the_session_is_for_that_very_command(
    tmp_path: Path,
) -> None:
    async with site(tmp_path) as (here, model):
        reads = model.rule
        obeys(model)
        runs = model.rule
        model.rule = lambda given: (runs if given.said.startswith("run ") else reads)(given)
        furnish(here)
        await here.start()
        await allowed_for_session(here, "rm -rf old")
        await idle(here)
        assert "exit status 0" in (await here.say("run rm -rf old/inner")).text
        await here.say("read")
        assert "exit status 0" in (await here.say("run rm -rf old")).text
        question = await must_ask(here, "rm -rf old/inner")
        assert "allows: exactly this command in this folder" in question["preview"]
        assert "This conversation has read: web_extract" in question["preview"].replace("`", "")
        assert "“Always”" not in question["preview"]
