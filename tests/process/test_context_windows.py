"""A context window is read where a server tells it, kept, and shown; from outside."""

import json
from pathlib import Path

import pytest

from hermes.testing.model import Model, Says
from tests.process.gateway import GatewayProcess, gateway

LLAMA = {"data": [{"id": "double", "meta": {"n_ctx": 9_216, "n_ctx_train": 131_072}}]}


async def shows(here: GatewayProcess, tokens: str) -> None:
    async def told() -> bool:
        return f"of {tokens} " in (await here.say("/usage")).text

    await here.until(told)


async def test_a_window_is_read_where_the_server_tells_it(tmp_path: Path) -> None:
    told = {"/v1/models": LLAMA}
    async with Model(told=told).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello")
        await shows(here, "9,216")
        kept = json.loads((here.home / "context-windows.json").read_bytes())
        assert kept == {"custom:double": 9_216}
        model.told = {}
        await here.kill()
        await here.start()
        assert "of 9,216 " in (await here.say("/usage")).text


@pytest.mark.setting("model.context_length")
async def test_an_overflow_tells_the_window_and_the_settings_count_first(tmp_path: Path) -> None:
    text = "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens."
    async with Model().up() as model, gateway(tmp_path, model) as here:
        model.rule = lambda asked: Says(text, status=400) if asked.said == "long" else Says("fine")
        await here.start()
        await here.say("hello")
        await here.say("long")
        await shows(here, "4,096")
        here.configure(model={"context_length": 12_000})
        await here.kill()
        await here.start()
        assert "of 12,000 " in (await here.say("/usage")).text
