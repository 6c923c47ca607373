"""C10 to C19: the real process is killed, and started again."""

import asyncio
import json
import shutil
import signal
from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says, plain, terminal
from tests.process.gateway import GatewayProcess, gateway

NOTE = "Note by Hermes"


def held(model: Model) -> None:
    async def rule(asked: Asked) -> Says:
        if "wait" in asked.said:
            await model.hold("wait")
            return Says("Here it is.")
        return plain(asked)

    model.rule = rule


async def begun(here: GatewayProcess, model: Model, session: str = "main") -> None:
    """Start a turn that waits for its model, without waiting for its answer."""
    asking = asyncio.create_task(here.say("wait", session, key=session))
    await model.reached("wait")
    asking.cancel()


async def answers(here: GatewayProcess, turns: int = 1) -> bool:
    rows = await here.hermes("turns", "list", "--json")
    return len([row for row in rows if row["state"] == "answered"]) >= turns


async def test_c10_an_idle_session_is_left_alone_after_a_crash(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello")
        await here.kill()
        await here.start()
        await asyncio.sleep(0.3)
        assert len(model.asked) == 1
        assert (await here.session())["mark"] == ""


async def test_c11_c13_a_killed_turn_goes_on_by_itself_in_the_same_conversation(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        await here.start()
        first = await here.say("hello")
        await begun(here, model)
        id_ = (await here.session())["id"]
        await here.kill()
        model.open("wait")
        await here.start()
        await here.until(lambda: answers(here, 2))
        row = await here.session()
        assert row["id"] == id_
        assert (row["phase"], row["mark"], row["runs"]) == ("idle", "", 0)
        last = model.asked[-1]
        assert last.everything.count(NOTE) == 1
        assert "a gateway interruption" in last.everything
        assert "hello" in last.everything, "nothing was wiped"
        assert first.status == 200
        assert (await here.say("wait", key="main")).text == "Here it is."


async def test_c11_a_drain_mark_is_kept_over_a_crash(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"drain_timeout_s": 30, "resume": {"auto": False}})
        await here.start()
        await begun(here, model)
        here.signal(signal.SIGTERM)

        async def marked() -> bool:
            return bool((await here.session())["mark"])

        await here.until(marked)
        await here.kill()
        await here.start()
        assert (await here.session())["mark"] == "shutdown_timeout"


@pytest.mark.setting("gateway.resume.freshness_s")
async def test_c13_past_the_window_the_turn_waits_for_its_person(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"resume": {"freshness_s": 0.2}, "drain_timeout_s": 0.1})
        await here.start()
        await begun(here, model)
        id_ = (await here.session())["id"]
        await here.stop()
        await asyncio.sleep(0.3)
        model.open("wait")
        asked = len(model.asked)
        await here.start()
        await asyncio.sleep(0.4)
        assert len(model.asked) == asked, "it went on by itself"
        await here.say("are you there? please wait no more")
        row = await here.session()
        assert (row["id"], row["mark"]) == (id_, "")
        assert "The person has written since" in model.asked[-1].everything


async def test_c14_three_interrupted_runs_park_the_session_and_one_tap_retries(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        await here.start()
        await begun(here, model)
        id_ = (await here.session())["id"]
        for _ in range(2):
            await here.kill()
            model.shut("wait")
            await here.start()
            await model.reached("wait")
        await here.kill()
        await here.start()
        await here.until(lambda: _phase(here, "suspended"))
        asked = len(model.asked)
        await asyncio.sleep(0.3)
        assert len(model.asked) == asked == 3
        model.open("wait")
        assert (await here.say("/retry")).status == 200
        await here.until(lambda: answers(here))
        row = await here.session()
        assert (row["id"], row["runs"]) == (id_, 0)


async def _phase(here: GatewayProcess, phase: str) -> bool:
    return bool((await here.session())["phase"] == phase)


async def test_c15_three_crashed_boots_hold_back_resumes_and_nothing_else(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"resume": {"attempts_max": 50}})
        await here.start()
        await begun(here, model)
        for _ in range(2):
            await here.kill()
            model.shut("wait")
            await here.start()
            await model.reached("wait")
        await here.kill()
        await here.start()
        status = await here.hermes("gateway", "status", "--json")
        assert status["resumes"] is False
        assert status["marks"] == {"restart_interrupted": 1}
        assert await here.health() == 200
        assert (await here.say("hello", "other")).text == "You said: hello"
        assert len([asked for asked in model.asked if "wait" in asked.said]) == 3
        model.open("wait")
        await here.say("go on, do not wait")
        assert (await here.session())["mark"] == ""


async def test_c16_a_suspended_session_gets_a_new_conversation_and_a_notice(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello")
        id_ = (await here.session())["id"]
        await here.hermes("sessions", "suspend", "agent:main:api:dm:main")
        row = await here.session()
        assert (row["phase"], row["id"]) == ("suspended", id_)
        await here.say("and now?")
        row = await here.session()
        assert row["id"] != id_
        assert row["phase"] == "idle"
        assert "hello" not in model.asked[-1].everything
        old = await here.get(f"/v1/sessions/{id_}/messages")
        assert "hello" in json.dumps(old), "the old transcript stays"


async def test_c17_stop_ends_the_turn_and_any_resume_and_keeps_the_conversation(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"resume": {"auto": False}})
        await here.start()
        await here.say("remember the word apple")
        await begun(here, model)
        id_ = (await here.session())["id"]
        await here.kill()
        await here.start()
        assert (await here.say("/stop")).text.startswith("Stopped")
        model.open("wait")
        row = await here.session()
        assert (row["id"], row["phase"], row["mark"]) == (id_, "idle", "")
        await here.say("hello")
        assert "apple" in model.asked[-1].everything


@pytest.mark.setting("sessions.on_stop")
async def test_c17_with_reset_a_stop_starts_clean_and_resume_brings_the_old_back(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(sessions={"on_stop": "reset"})
        await here.start()
        await here.say("remember the word apple")
        await begun(here, model)
        await here.say("/stop")
        model.open("wait")
        await here.say("hello")
        assert "apple" not in model.asked[-1].everything
        assert "apple" in (await here.say("/resume")).text
        await here.say("/resume 1")
        await here.say("which word?")
        assert "apple" in model.asked[-1].everything


async def test_c18_a_stop_for_an_old_turn_swallows_nothing(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        first = await here.say("one")
        stopped = await here.post(f"/v1/turns/{first.turn}/stop")
        assert stopped["state"] == "answered"
        await here.say(f"/stop {first.turn}")
        assert (await here.say("two")).text == "You said: two"


async def test_c19_one_session_that_cannot_go_on_holds_up_no_other(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        await here.start()
        for name in ("a", "b", "c"):
            model.shut("wait")
            await begun(here, model, name)
        await here.kill()
        model.shut("wait")
        await here.start()
        assert (await here.say("hello", "other")).text == "You said: hello"
        model.open("wait")
        await here.until(lambda: answers(here, 4))


async def test_c24_a_command_outlives_the_gateway_and_is_not_run_twice(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        command = "echo began >> effects; sleep 1.5; echo ended >> effects; echo built"

        def rule(asked: Asked) -> Says:
            if asked.results:
                return Says(f"It said: {asked.results[-1]}")
            return Says(calls=(terminal(command),))

        model.rule = rule
        await here.start()
        asking = asyncio.create_task(here.say("build", key="k"))
        effects = here.home / "workspace" / "effects"
        await here.until(lambda: asyncio.to_thread(effects.exists))
        await here.kill()
        asking.cancel()
        await here.start()
        assert "built" in (await here.say("build", key="k")).text
        assert effects.read_text(encoding="utf-8") == "began\nended\n"


async def test_c24_a_commands_time_limit_outlives_the_gateway(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        def rule(asked: Asked) -> Says:
            if asked.results:
                return Says(f"It said: {asked.results[-1]}")
            command = {"command": "echo $$ > pid; sleep 600; echo late", "timeout": 1}
            return Says(calls=(("terminal", command),))

        model.rule = rule
        await here.start()
        asking = asyncio.create_task(here.say("edit", key="k"))
        await here.until(lambda: asyncio.to_thread((here.home / "workspace" / "pid").exists))
        await here.kill()
        asking.cancel()
        await here.until(lambda: asyncio.to_thread(_has_ended, here.home), 30.0)
        await here.start()
        text = (await here.say("edit", key="k")).text
        assert "timed out after" in text
        assert "late" not in text


def _has_ended(home: Path) -> bool:
    """Return True if the command's wrapper noted its end while no gateway was running."""
    return any(home.glob("calls/*/cut")) and any(home.glob("calls/*/status"))


async def test_a_record_that_is_deleted_under_a_running_command_is_an_unknown_outcome(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        def rule(asked: Asked) -> Says:
            if asked.results:
                return Says(f"It said: {asked.results[-1]}")
            return Says(calls=(terminal("echo now > began; sleep 2"),))

        model.rule = rule
        await here.start()
        asking = asyncio.create_task(here.say("work", key="k"))
        await here.until(lambda: asyncio.to_thread((here.home / "workspace" / "began").exists))
        await asyncio.to_thread(shutil.rmtree, here.home / "calls")
        answer = await asking
        assert "outcome unknown" in answer.text
        turn = await here.hermes("turns", "show", answer.turn, "--json")
        assert [step["outcome"] for step in turn["steps"] if step["outcome"]] == ["unknown"]
        assert (await here.say("again", "other", key="o")).status == 200, "commands still run"
