"""The gateway makes no model call unless a person or a schedule asked for one."""

import asyncio
from pathlib import Path

from hermes.testing.model import Model
from tests.process.gateway import gateway
from tests.process.looks import idle

SILENT_S = 2.5


async def test_after_its_answer_the_gateway_asks_no_model_anything(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("hello")
        await idle(here)
        heard = len(model.asked)
        await asyncio.sleep(SILENT_S)
        assert len(model.asked) == heard == 1
