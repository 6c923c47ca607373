"""C01 to C08: leaving in good order, proven on the real process."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says, plain, terminal
from tests.process.gateway import SRC, GatewayProcess, gateway
from tests.process.looks import UNASKED

NOTE = "Note by Hermes"


def held(model: Model) -> None:
    """Use a rule that answers `wait` when the test opens the gate, and everything else at once."""

    async def rule(asked: Asked) -> Says:
        if "wait" in asked.said:
            await model.hold("wait")
            return Says("Here it is.")
        return plain(asked)

    model.rule = rule


async def begun(here: GatewayProcess, model: Model) -> "asyncio.Task[object]":
    """Start a turn that waits for its model."""
    asking = asyncio.create_task(_quietly(here))
    await model.reached("wait")
    return asking


async def _quietly(here: GatewayProcess) -> object:
    """Send a message and ignore a connection that is cut when the gateway stops."""
    try:
        return (await here.say("wait", key="k")).text
    except OSError:
        return None


async def test_c01_a_stop_marks_the_running_turn_as_shutdown(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"drain_timeout_s": 0.5})
        await here.start()
        asking = await begun(here, model)
        assert await here.stop() == 0
        asking.cancel()
        row = await here.session()
        assert (row["phase"], row["mark"]) == ("running", "shutdown_timeout")


async def test_c01_a_restart_marks_the_running_turn_as_restart_and_goes_on(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"drain_timeout_s": 0.5})
        await here.start()
        asking = await begun(here, model)
        before, pid = here.started_at(), here.pid
        here.signal(signal.SIGUSR1)
        await here.restarted(before)
        assert here.pid == pid, "a supervisor sees the same process"
        asking.cancel()
        model.open("wait")
        assert (await here.say("wait", key="k")).text == "Here it is."
        assert "a gateway restart" in model.asked[-1].everything
        assert (await here.session())["mark"] == ""


async def test_c02_a_turn_that_ends_in_the_drain_leaves_no_mark_and_no_note(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        await here.start()
        asking = await begun(here, model)
        here.signal(signal.SIGTERM)
        await here.until_draining()
        model.open("wait")
        assert await asking == "Here it is."
        assert await here.ended() == 0
        row = await here.session()
        assert (row["phase"], row["mark"]) == ("idle", "")
        await here.start()
        assert (await here.say("hello")).text == "You said: hello"
        assert NOTE not in model.asked[-1].everything


@pytest.mark.setting("gateway.drain_timeout_s")
async def test_c03_at_the_end_of_the_drain_steps_are_kept_and_queued_work_is_not_touched(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        async def rule(asked: Asked) -> Says:
            if "work" in asked.said and asked.results:
                await model.hold("wait")
                return Says("Done.")
            if "work" in asked.said:
                return Says(calls=(terminal("echo once >> effects"),))
            return plain(asked)

        model.rule = rule
        here.configure(gateway={"drain_timeout_s": 0.5})
        await here.start()
        asking = asyncio.create_task(here.say("work", key="k"))
        await model.reached("wait")
        queued = asyncio.create_task(here.say("later", key="q"))
        await here.until(lambda: _one_waits(here))
        assert await here.stop() == 0
        for task in (asking, queued):
            task.cancel()
        row = await here.session()
        assert (row["phase"], row["mark"], row["waiting"]) == ("running", "shutdown_timeout", 1)
        model.open("wait")
        await here.start()
        assert (await here.say("work", key="k")).text == "Done."
        assert (await here.say("later", key="q")).text == "You said: later"
        effects = here.home / "workspace" / "effects"
        assert effects.read_text(encoding="utf-8") == "once\n", "a finished step is not run again"


async def _one_waits(here: GatewayProcess) -> bool:
    return bool((await here.get("/v1/sessions"))[0]["waiting"] == 1)


async def test_c04_a_clean_drain_leaves_no_mark_and_interrupts_nobody(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello")
        assert await here.stop() == 0
        status = await here.hermes("gateway", "status", "--json")
        assert status["state"] == "stopped"
        assert status["counts"]["marks"] == {}
        assert status["counts"]["running"] == 0


async def test_c06_a_restart_that_a_turn_asks_for_lets_it_end_and_is_done_once(
    tmp_path: Path,
) -> None:
    hermes = f"PYTHONPATH={SRC} {sys.executable} -P -m hermes"
    async with Model().up() as model, gateway(tmp_path, model) as here:

        def rule(asked: Asked) -> Says:
            if asked.results or "Restarting" in asked.said:
                return Says("Asked for it.")
            return Says(calls=(terminal(f"{hermes} gateway restart; echo asked >> asked"),))

        model.rule = rule
        here.configure(terminal={"sandbox": "none"}, **UNASKED)  # a box could not signal it
        await here.start()
        before = here.started_at()
        assert (await here.say("restart yourself", key="k")).text == "Asked for it."
        await here.restarted(before)
        assert (await here.say("restart yourself", key="k")).text == "Asked for it."
        turns = await here.hermes("turns", "list", "--json")
        assert [(turn["state"], turn["attempts"]) for turn in turns] == [("answered", 1)]
        asked = (here.home / "workspace" / "asked").read_text(encoding="utf-8")
        assert asked == "asked\n"
        await asyncio.sleep(0.5)
        assert here.started_at() < before + 60
        assert await here.health() == 200


async def test_c06_a_wedged_turn_does_not_hold_up_a_restart(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"drain_timeout_s": 0.5})
        await here.start()
        asking = await begun(here, model)
        before = here.started_at()
        assert "restarting" in (await here.say("/restart", "other")).text
        await here.restarted(before)
        asking.cancel()


async def test_c07_work_that_comes_while_draining_is_kept_and_runs_after_the_restart(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"drain_timeout_s": 2})
        await here.start()
        asking = await begun(here, model)
        before = here.started_at()
        here.signal(signal.SIGUSR1)
        await here.until_draining()
        late = asyncio.create_task(_cut(here, "news", "late"))
        assert (await here.say("without a key", "other")).status == 503
        await here.restarted(before)
        model.open("wait")
        assert await late in (None, 503)
        asking.cancel()
        assert (await here.say("news", "late", key="n")).text == "You said: news"
        said = [asked.said for asked in model.asked]
        assert said.count("news") == 1
        assert "without a key" not in said


async def _cut(here: GatewayProcess, text: str, session: str) -> int | None:
    try:
        return (await here.say(text, session, key="n")).status
    except OSError:
        return None


async def test_c08_the_drain_fits_into_what_the_supervisor_allows(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.extra["HERMES_STOP_LIMIT_S"] = "6"
        here.configure(gateway={"drain_timeout_s": 600})
        await here.start()
        asking = await begun(here, model)
        began = asyncio.get_running_loop().time()
        assert await here.stop() == 0
        asking.cancel()
        assert asyncio.get_running_loop().time() - began < 6
        assert (await here.session())["mark"] == "shutdown_timeout"


async def test_a_port_in_use_ends_the_start_with_the_key_and_the_fix(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.port = model.port
        await here.start(ready=False)
        assert await here.ended() == 78
        assert "platforms.api.port" in here.output()


async def test_settings_that_become_wrong_in_the_drain_leave_the_old_ones_at_work(
    tmp_path: Path,
) -> None:
    """The settings change after the check and before the new program reads them."""
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        await here.start()
        asking = await begun(here, model)
        before, config = here.started_at(), here.home / "config.yaml"
        here.signal(signal.SIGUSR1)
        await here.until_draining()
        good = config.read_text(encoding="utf-8")
        config.write_text(good.replace('"custom"', '"custm"'), encoding="utf-8")
        model.open("wait")
        assert await asking == "Here it is."
        await here.until(lambda: asyncio.to_thread(lambda: "custm" in here.output()))
        config.write_text(good, encoding="utf-8")
        await here.until(lambda: _healthy(here))
        assert here.started_at() == before, "the same program"
        assert (await here.say("hello")).text == "You said: hello"


async def _healthy(here: GatewayProcess) -> bool:
    return await here.health() == 200


async def test_sigusr2_tells_what_everybody_is_doing(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        stacks = here.home / "logs" / "stacks.log"
        here.signal(signal.SIGUSR2)
        await here.until(lambda: asyncio.to_thread(lambda: "task " in stacks.read_text()))
        assert "Thread" in stacks.read_text(encoding="utf-8")
        assert (await here.say("hello")).text == "You said: hello"


async def test_c01_a_stop_counts_when_nobody_reads_what_the_gateway_says(tmp_path: Path) -> None:
    """The terminal or pipe that the gateway writes to is closed."""
    async with Model().up() as model, gateway(tmp_path, model) as here:
        reader, writer = os.pipe()
        await here.start(out=os.fdopen(writer, "wb"))
        os.close(reader)
        assert (await here.say("hello")).status == 200
        here.signal(signal.SIGTERM)
        assert await here.ended() == 0
