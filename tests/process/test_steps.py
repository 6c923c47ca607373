"""C20 to C28: the state of each step after a kill at an exactly known moment."""

import asyncio
import contextlib
import hashlib
import hmac
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from hermes.testing.model import Asked, Body, Model, Says, terminal
from tests.process.gateway import Answered, GatewayProcess, client, free_port, gateway
from tests.process.looks import (
    NOTE,
    UNASKED,
    effect,
    effects,
    gate,
    idle,
    kill_command,
    raw,
    request_bytes,
    rows,
    running_call,
    session_row,
    steps,
    tried,
    until_gate,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIFO = "news"
# Each session sends its own name; the model then makes these calls.
WORK: dict[str, tuple[tuple[str, Body], ...]] = {
    "finished": (terminal(effect("finished")),),
    "intended": (
        terminal(f"{effect('first')}; {until_gate('intended')}"),
        terminal(effect("second")),
    ),
    "read": (terminal(f"cat {FIFO}"),),
    "lost": (terminal(f"{effect('lost')}; sleep 600"),),
    "ended": (terminal(f"{effect('ended')}; {until_gate('ended')}; echo built while down"),),
    "longer": (terminal(f"{effect('longer')}; {until_gate('longer')}; echo built at last"),),
}
EFFECTS = ["ended", "finished", "first", "longer", "lost", "second"]


@dataclass
class Scene:
    here: GatewayProcess
    model: Model
    answers: dict[str, Answered] = field(default_factory=dict)

    def heard(self, name: str) -> list[Asked]:
        return [asked for asked in self.model.asked if asked.said == name]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Yield six turns that are at different points when the gateway is killed."""
    folder = tmp_path_factory.mktemp("steps")
    async with Model().up() as model, gateway(folder, model, **UNASKED) as here:
        model.rule = lambda asked: _rule(model, asked)
        await here.start()
        os.mkfifo(here.home / "workspace" / FIFO)
        clients = [asyncio.create_task(tried(here, name, name, key=name)) for name in WORK]
        await model.reached("finished")
        calls = {name: await running_call(here, _words(name)) for name in WORK}
        await here.until(lambda: _counted(here, 5))
        await here.kill()
        await asyncio.gather(*clients)
        kill_command(calls["read"])
        kill_command(calls["lost"])
        gate(here, "ended").touch()
        await here.until(lambda: asyncio.to_thread((calls["ended"] / "status").exists))
        model.open("finished")
        await here.start()
        scene = Scene(here, model)
        await here.until(lambda: _begun_twice(here, calls["longer"]))
        await here.until(lambda: _begun_twice(here, calls["read"]))
        for name in ("longer", "intended"):
            gate(here, name).touch()
        await _feed(here)
        for name in WORK:
            scene.answers[name] = await here.say(name, name, key=name)
        yield scene


async def _rule(model: Model, asked: Asked) -> Says:
    if asked.results:
        if asked.said == "finished":
            await model.hold("finished")
        return Says(" | ".join(asked.results))
    return Says(calls=WORK[asked.said])


def _words(name: str) -> str:
    return str(WORK[name][0][1]["command"])


async def _counted(here: GatewayProcess, count: int) -> bool:
    return len(effects(here)) == count


async def _begun_twice(here: GatewayProcess, call: Path) -> bool:
    turn = call.name.rpartition("-")[0]
    return [step["starts"] for step in await steps(here, turn)] == [2]


async def _feed(here: GatewayProcess) -> None:
    """Write to the pipe for its current reader."""

    async def fed() -> bool:
        with contextlib.suppress(OSError):
            pipe = os.open(here.home / "workspace" / FIFO, os.O_WRONLY | os.O_NONBLOCK)
            os.write(pipe, b"today\n")
            os.close(pipe)
            return True
        return False

    await here.until(fed)


async def test_c20_a_finished_result_is_used_and_its_call_never_made_again(scene: Scene) -> None:
    (step,) = await steps(scene.here, scene.answers["finished"].turn)
    assert (step["state"], step["outcome"], step["starts"]) == ("finished", "ok", 1)
    before, after = [asked for asked in scene.heard("finished") if asked.results]
    assert after.results[0].startswith(before.results[0])
    assert sorted(effects(scene.here)) == EFFECTS, "each effect happened exactly once"


async def test_c21_what_was_only_intended_runs_with_the_same_arguments(scene: Scene) -> None:
    first, second = await steps(scene.here, scene.answers["intended"].turn)
    assert (first["starts"], second["starts"]) == (2, 1)
    assert {first["outcome"], second["outcome"]} == {"ok"}
    assert effect("second") in second["arguments"]
    assert effects(scene.here).index("first") < effects(scene.here).index("second")


async def test_c22_a_read_that_was_lost_runs_again(scene: Scene) -> None:
    (step,) = await steps(scene.here, scene.answers["read"].turn)
    assert (step["effect"], step["starts"], step["outcome"]) == ("read", 2, "ok")
    assert "today" in scene.answers["read"].text


async def test_c23_a_lost_effect_is_not_run_again_and_the_model_is_told(scene: Scene) -> None:
    (step,) = await steps(scene.here, scene.answers["lost"].turn)
    assert (step["effect"], step["state"], step["outcome"]) == ("effect", "unknown", "unknown")
    (row,) = [row for row in await rows(scene.here, "lost") if row["role"] == "tool"]
    assert row["outcome"] == "unknown", "a structured field, not only words"
    (told,) = scene.heard("lost")[-1].results
    assert "Outcome unknown" in told
    assert "Look at what it did before you retry" in told
    assert "ask the person first" in told
    assert effects(scene.here).count("lost") == 1


async def test_c24_a_command_that_ended_meanwhile_is_taken_up_with_its_output(
    scene: Scene,
) -> None:
    (step,) = await steps(scene.here, scene.answers["ended"].turn)
    assert (step["outcome"], step["starts"]) == ("ok", 2)
    assert scene.answers["ended"].text.startswith("built while down\n")


async def test_c24_a_command_that_still_runs_is_waited_for(scene: Scene) -> None:
    (step,) = await steps(scene.here, scene.answers["longer"].turn)
    assert (step["outcome"], step["starts"]) == ("ok", 2)
    assert scene.answers["longer"].text.startswith("built at last\n")
    assert effects(scene.here).count("longer") == 1


async def test_c25_every_request_after_the_kill_is_valid_and_has_one_note(scene: Scene) -> None:
    scene.model.check()
    for name in WORK:
        assert scene.heard(name)[-1].everything.count(NOTE) == 1


ODD = "  Zwölf Boxkämpfer 🥊 jagten\n\n```py\nx = '\\t'\n```\n\u00a0 twice  \n"


async def test_c26_an_answer_comes_from_storage_byte_for_byte(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        model.rule = lambda _asked: Says(ODD)
        await here.start()
        read = await raw(here, "hello", "reads", key="r")
        _, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(request_bytes(here, "hello", "never", key="n"))
        await here.until(lambda: _answered(here, "never"))
        await here.kill()
        writer.close()
        await here.start()
        assert await raw(here, "hello", "reads", key="r") == read
        late = await raw(here, "hello", "never", key="n")
        assert await raw(here, "whatever it says", "elsewhere", key="n") == late
        assert json.loads(late)["choices"][0]["message"]["content"] == ODD
        assert len(model.asked) == 2, "no model was asked again"


async def _answered(here: GatewayProcess, session: str) -> bool:
    listed = [row["name"] for row in await here.get("/v1/sessions")]
    return session in listed and (await session_row(here, session))["rows"] == 2


async def test_c27_c28_a_webhooks_and_a_background_turn_go_on_like_a_chats(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        model.rule = lambda asked: _worked(model, asked)
        port = free_port()
        route = {"secret": "correct-horse", "signature": "plain", "prompt": "hook {body}"}
        here.configure(
            platforms={"webhook": {"port": port, "routes": {"build": route}}},
            approvals={"mode": "allow"},  # an event may not run a command by itself
        )
        await here.start()
        assert await _event(port, b"pushed") == 202
        await here.say("/background job of mine", key="b")
        await model.reached("hook")
        await model.reached("job")
        await here.kill()
        for name in ("hook", "job"):
            model.open(name)
        await here.start()
        assert await _event(port, b"pushed") == 200, "known already"
        lanes = {row["name"] for row in await here.get("/v1/sessions")} - {"main"}
        assert len(lanes) == 2
        for lane in lanes:
            await idle(here, lane)
            texts = [(row["role"], row["text"]) for row in await rows(here, lane)]
            assert [role for role, _ in texts] == ["user", "assistant", "tool", "assistant"]
            assert texts[-1][1] == "All done."
        assert sorted(effects(here)) == ["hook", "job"]
        resumed = [asked for asked in model.asked if NOTE in asked.everything]
        assert len(resumed) == 2
        assert (await here.say("hello")).text == "All done."
        assert NOTE not in model.asked[-1].everything


async def _worked(model: Model, asked: Asked) -> Says:
    name = asked.said.partition(" ")[0]
    if asked.results:
        await model.hold(name)
    if asked.results or name == "hello":
        return Says("All done.")
    return Says(calls=(terminal(effect(name)),))


async def _event(port: int, body: bytes) -> int:
    digest = hmac.new(b"correct-horse", body, hashlib.sha256).hexdigest()
    headers = {"x-hermes-signature": f"sha256={digest}", "x-delivery-id": "d1"}
    async with client(10.0) as http:
        url = f"http://127.0.0.1:{port}/webhooks/build"
        return (await http.post(url, content=body, headers=headers)).status_code
