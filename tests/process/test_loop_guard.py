"""P8: another bot is answered three times in a row, then the owner decides; also over a kill."""

from pathlib import Path
from typing import Any

from hermes.testing.model import Model
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import GatewayProcess, gateway

ANN, BOT = 7, 9
PROGRAM = {"from": {"id": BOT, "is_bot": True, "first_name": "Beeper"}}


async def _is(true: bool) -> bool:
    return true


def beep(api: BotApi, number: int) -> None:
    api.say(f"beep {number}", chat=BOT, user=BOT, **PROGRAM)


def cards(api: BotApi) -> list[Any]:
    return [shown for shown in api.chat(ANN) if "Continue to answer this bot" in shown.text]


async def taken(here: GatewayProcess, api: BotApi) -> None:
    """Wait until every message so far was accepted."""
    last = api.updates[-1]["update_id"] if api.updates else 0
    await here.until(lambda: _is(api.confirmed > last))


async def test_a_loop_with_a_bot_is_parked_and_the_owners_no_outlives_kills(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, BotApi() as api, gateway(tmp_path, model) as here:
        telegram = {"token": TOKEN, "api_base": api.url, "drafts": False, "poll_s": 1}
        here.configure(platforms={"telegram": {**telegram, "allowed_users": [ANN, BOT]}})
        await here.start()
        api.say("/sethome", chat=ANN, user=ANN)
        await here.until(lambda: _is(len(api.texts(ANN)) == 1))
        for number in range(3):
            beep(api, number)
            answer = f"You said: beep {number}"
            await here.until(lambda answer=answer: _is(answer in api.texts(BOT)))
        beep(api, 3)
        await here.until(lambda: _is(len(cards(api)) == 1))
        assert "telegram:9" in cards(api)[0].text
        await here.kill()
        await here.start()
        beep(api, 4)
        api.say("/approve", chat=BOT, user=BOT, **PROGRAM)
        await taken(here, api)
        [waiting] = await here.hermes("approvals", "list", "--json")
        assert waiting["tool"] == "loop"
        assert len(api.texts(BOT)) == len(model.asked) == 3, "parked, and no model was asked"
        [[_, no]] = cards(api)[0].buttons
        api.press(ANN, cards(api)[0].message_id, no["callback_data"])
        await here.until(lambda: _pending(here, 0))
        await here.kill()
        await here.start()
        beep(api, 5)
        await taken(here, api)
        api.say("are you there?", chat=ANN, user=ANN)
        await here.until(lambda: _is("You said: are you there?" in api.texts(ANN)))
        assert len(api.texts(BOT)) == 3
        assert len(cards(api)) == 1, "the owner is asked once"


async def _pending(here: GatewayProcess, count: int) -> bool:
    return len(await here.hermes("approvals", "list", "--json")) == count
