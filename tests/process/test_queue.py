"""C60 to C62: many messages at once, and many processes on one home."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says, plain, terminal
from tests.process.gateway import Answered, GatewayProcess, gateway
from tests.process.looks import (
    NOTE,
    UNASKED,
    effect,
    effects,
    gate,
    idle,
    raw,
    running_call,
    said,
    session_row,
    steps,
    tried,
    until_gate,
    waiting,
)

COMMANDS = 230


def held(model: Model) -> None:
    """Use a rule that answers `wait` when the test opens the gate, and echoes everything else."""

    async def rule(asked: Asked) -> Says:
        if asked.said.endswith("wait"):
            await model.hold("wait")
            return Says("Here it is.")
        return plain(asked)

    model.rule = rule


def working(model: Model) -> None:
    """Use a rule: `work` runs a command that waits for its gate; then tell its result and all
    messages."""

    def rule(asked: Asked) -> Says:
        if not any("go-work" in result for result in _called(asked)):
            return Says(calls=(terminal(f"{effect('worked')}; {until_gate('work')}"),))
        return Says(f"Heard last: {asked.said}")

    model.rule = rule


def _called(asked: Asked) -> list[str]:
    calls = [call for message in asked.messages for call in message.get("tool_calls") or ()]
    return [str(call["function"]["arguments"]) for call in calls]


async def queued(
    here: GatewayProcess, *texts: str, session: str = "main"
) -> "list[asyncio.Task[Answered | None]]":
    """Send messages in order, from clients that wait for their answers."""
    clients = []
    for count, text in enumerate(texts, start=1):
        clients.append(asyncio.create_task(tried(here, text, session, key=text)))
        await waiting(here, count, session)
    return clients


async def test_c60_a_burst_is_kept_in_order_over_a_kill_and_answered_as_a_whole(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        held(model)
        await here.start()
        first = asyncio.create_task(tried(here, "wait", key="first"))
        await model.reached("wait")
        burst = await queued(here, "one", "two", "three")
        assert (await here.say("/queue four", key="c")).text == "Queued."
        await here.kill()
        assert await asyncio.gather(first, *burst) == [None] * 4
        model.open("wait")
        await here.start()
        assert (await here.say("wait", key="first")).text == "Here it is."
        answers = [await here.say(text, key=text) for text in ("three", "one", "two")]
        assert {answer.text for answer in answers} == {"You said: one\n\ntwo\n\nthree\n\nfour"}
        assert len({answer.turn for answer in answers}) == 1
        assert await said(here) == ["wait", "one", "two", "three", "four"]
        assert NOTE not in model.asked[-1].everything, "what only waited was not interrupted"
        assert len(model.asked) == 3


async def test_c60_a_new_message_does_not_overtake_one_that_waited_at_the_crash(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        held(model)
        here.configure(gateway={"resume": {"auto": False}})
        await here.start()
        first = asyncio.create_task(tried(here, "wait", key="first"))
        await model.reached("wait")
        burst = await queued(here, "one")
        await here.kill()
        await asyncio.gather(first, *burst)
        model.open("wait")
        await here.start()
        assert (await here.say("two")).status == 200
        assert (await here.say("one", key="one")).status == 200
        assert await said(here) == ["wait", "one", "two"]


async def test_c60_one_message_delivered_many_times_and_late_is_one_turn(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        held(model)
        await here.start()
        same = [asyncio.create_task(raw(here, "wait", "main", key="k")) for _ in range(8)]
        await model.reached("wait")
        elsewhere = asyncio.create_task(raw(here, "not even this text", "other", key="k"))
        late = await queued(here, "second")
        model.open("wait")
        bodies = set(await asyncio.gather(*same, elsewhere))
        assert len(bodies) == 1
        (after,) = await asyncio.gather(*late)
        assert after is not None
        assert after.text == "You said: second"
        assert {await raw(here, "wait", "main", key="k")} == bodies, "a repeat that comes last"
        again = await here.say("second", key="second")
        assert again.turn == after.turn
        assert await said(here) == ["wait", "second"]
        assert len(model.asked) == 2
        assert [row["name"] for row in await here.get("/v1/sessions")] == ["main"]


async def test_c61_a_steer_comes_behind_the_next_result_without_interrupting(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        working(model)
        await here.start()
        asking = asyncio.create_task(here.say("work"))
        await running_call(here, "go-work")
        steering = asyncio.create_task(here.say("/steer in blue", key="s"))
        await here.until(lambda: _has_said(here, "in blue"))
        gate(here, "work").touch()
        answer = await asking
        assert answer.text == (await steering).text == "Heard last: in blue"
        roles = [message["role"] for message in model.asked[-1].messages[1:]]
        assert roles == ["user", "assistant", "tool", "user"]
        assert len(model.asked) == 2
        (step,) = await steps(here, answer.turn)
        assert (step["outcome"], step["starts"]) == ("ok", 1)
        assert effects(here) == ["worked"]


async def test_c61_a_steer_while_the_model_thinks_is_read_behind_what_it_then_says(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:

        async def rule(asked: Asked) -> Says:
            if "in blue" not in asked.everything:
                await model.hold("wait")
            return Says(f"Heard last: {asked.said}")

        model.rule = rule
        await here.start()
        asking = asyncio.create_task(here.say("paint it"))
        await model.reached("wait")
        steering = asyncio.create_task(here.say("/steer in blue", key="s"))
        await here.until(lambda: _knows(here, "in blue"))
        model.open("wait")
        await asking
        await steering
        await idle(here)
        last = model.asked[-1]
        assert last.said.endswith("in blue"), "somebody has read it"
        assert [m["role"] for m in last.messages[1:]] == ["user", "assistant", "user"]


async def _knows(here: GatewayProcess, text: str) -> bool:
    """Return True if the text is in the transcript or in the queue."""
    return await _has_said(here, text) or (await session_row(here))["waiting"] == 1


@pytest.mark.setting("gateway.busy")
async def test_c61_in_steer_mode_a_message_joins_the_turn_that_runs(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        working(model)
        here.configure(gateway={"busy": "steer"})
        await here.start()
        asking = asyncio.create_task(here.say("work"))
        await running_call(here, "go-work")
        steering = asyncio.create_task(here.say("in blue", key="s"))
        await here.until(lambda: _has_said(here, "in blue"))
        gate(here, "work").touch()
        first, second = await asking, await steering
        assert first.text == second.text == "Heard last: in blue"
        assert first.turn == second.turn
        assert effects(here) == ["worked"]


async def _has_said(here: GatewayProcess, text: str) -> bool:
    return text in await said(here)


@pytest.mark.setting("gateway.busy")
async def test_c61_in_interrupt_mode_a_message_stops_the_turn_and_its_command(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        working(model)
        here.configure(gateway={"busy": "interrupt"})
        await here.start()
        asking = asyncio.create_task(here.say("work"))
        call = await running_call(here, "go-work")
        answer = await here.say("something else")
        assert answer.text == "Heard last: something else"
        stopped = await asking
        assert stopped.status == 409
        assert stopped.body["error"]["code"] == "turn_stopped"
        assert (call / "cut").read_text(encoding="utf-8") == "stopped"
        assert await said(here) == ["work", "something else"]
        assert NOTE not in model.asked[-1].everything, "no result had come in"


async def test_c17_a_stop_after_a_crash_ends_the_command_that_still_runs(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        working(model)
        here.configure(gateway={"resume": {"auto": False}})
        await here.start()
        asking = asyncio.create_task(tried(here, "work", key="k"))
        call = await running_call(here, "go-work")
        await here.kill()
        await asking
        await here.start()
        assert (await here.say("/stop")).text == "Stopped."
        await here.until(lambda: asyncio.to_thread((call / "status").exists), 5.0)
        assert (call / "cut").read_text(encoding="utf-8") == "stopped"


LANE = "agent:main:api:dm:main"


async def chat(here: GatewayProcess, text: str) -> "asyncio.subprocess.Process":
    """Start `hermes chat -q` on the session of the API client."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "hermes", "chat", "-q", text, "--session", LANE, "--json"),
        env=here.environ,
        cwd=here.folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )


async def told(child: "asyncio.subprocess.Process") -> Any:
    out, _ = await asyncio.wait_for(child.communicate(), 30)
    return json.loads(out)


async def test_c62_a_chat_beside_the_gateway_and_the_api_share_a_lane(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        held(model)
        await here.start()
        first = asyncio.create_task(here.say("wait", key="first"))
        await model.reached("wait")
        beside = await chat(here, "from the terminal")
        await waiting(here, 1)
        model.open("wait")
        assert (await first).text == "Here it is."
        shown = await told(beside)
        assert shown["text"] == "You said: from the terminal"
        assert await said(here) == ["wait", "from the terminal"]
        assert len(model.asked) == 2


async def test_c62_a_gateway_leaves_a_chats_turn_alone_until_the_chat_dies(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        held(model)
        here.configure()
        alone = await chat(here, "please wait")
        await model.reached("wait")
        await here.start()
        later = asyncio.create_task(here.say("from the api", key="l"))
        await waiting(here, 1)
        assert len(model.asked) == 1, "the turn has one owner"
        alone.kill()
        await alone.wait()
        model.open("wait")
        assert "from the api" in (await later).text, "it joins the turn that goes on"
        assert model.asked[-1].everything.count(NOTE) == 1
        assert await said(here) == ["please wait", "from the api"]
        assert len(model.asked) == 2


async def test_c60_hundreds_of_commands_that_waited_are_all_obeyed(tmp_path: Path) -> None:
    """The owner of the session's lease is alive but does nothing, so the commands wait."""
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        held(model)
        here.configure()
        owner = await chat(here, "please wait")
        await model.reached("wait")
        owner.send_signal(signal.SIGSTOP)
        await here.start()
        orders = [asyncio.create_task(tried(here, "/stop", key=f"{n}")) for n in range(COMMANDS)]
        await here.until(lambda: _all_wait(here, orders))
        owner.kill()
        await owner.wait()
        obeyed = await asyncio.wait_for(asyncio.gather(*orders), 10)
        texts = [answer.text for answer in obeyed if answer is not None]
        assert sorted(texts) == ["Nothing is running."] * (COMMANDS - 1) + ["Stopped."]
        assert (await here.say("hello")).text.endswith("hello")


async def _all_wait(here: GatewayProcess, orders: "list[asyncio.Task[Answered | None]]") -> bool:
    """Return True if all wait, or if the lease has expired because the owner was silent."""
    some_done = any(order.done() for order in orders)
    return some_done or (await session_row(here))["waiting"] == COMMANDS


async def test_c62_a_second_gateway_on_the_same_home_says_try_again(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "hermes", "gateway", "run"),
            env=here.environ,
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await asyncio.wait_for(child.communicate(), 30)
        assert child.returncode == 75
        assert f"pid {here.pid}" in out.decode()
        assert (await here.say("hello")).text == "You said: hello"
        await here.kill()
        await here.start()
        assert await here.health() == 200, "what a dead one leaves behind is no obstacle"
