"""A budget holds over restarts, stops automation first, and says so."""

from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.process.gateway import gateway
from tests.process.looks import idle


def dear(asked: Asked) -> Says:
    return Says(f"heard {asked.said}", read=95)  # and 5 written


@pytest.mark.setting("budgets.day_tokens", "budgets.automation_share")
async def test_res_06_a_day_s_budget_is_kept_over_a_crash_and_automation_stops_first(
    tmp_path: Path,
) -> None:
    async with Model(dear).up() as model, gateway(tmp_path, model) as here:
        here.configure(budgets={"day_tokens": 300, "automation_share": 0.5})
        await here.start()
        assert (await here.say("one")).text == "heard one"
        await here.say("/background two")
        await here.until(lambda: _asked(model, 2))
        await idle(here)
        heard = len(model.asked)
        await here.say("/background three")
        await idle(here)
        await here.kill()
        await here.start()
        assert len(model.asked) == heard, "half of the budget is for what nobody waits for"
        assert (await here.say("four", "other")).text == "heard four"
        got = await here.say("five", "another")
        assert "budgets.day_tokens is 300" in got.text
        assert len(model.asked) == heard + 1


async def _asked(model: Model, count: int) -> bool:
    return len(model.asked) >= count
