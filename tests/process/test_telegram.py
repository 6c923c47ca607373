"""The real gateway on a Bot API: what a person sees across kills, floods and stops."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says, plain
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import GatewayProcess, gateway

ANN = 7


@asynccontextmanager
async def bot(folder: Path) -> AsyncIterator[tuple[GatewayProcess, BotApi, Model]]:
    async with Model().up() as model, BotApi() as api, gateway(folder, model) as here:
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN]}
        here.configure(platforms={"telegram": telegram})
        yield here, api, model


def slowly(model: Model) -> None:
    """Use a rule: `wait` streams two words, and the rest when the test opens the gate."""

    async def rule(asked: Asked) -> Says:
        if "wait" in asked.said:
            await model.hold("wait")
            return Says("Here it is at last.", word_s=0.3)
        return plain(asked)

    model.rule = rule


async def shows(here: GatewayProcess, api: BotApi, *texts: str) -> None:
    async def there() -> bool:
        return all(any(text in shown for shown in api.texts(ANN)) for text in texts)

    try:
        await here.until(there)
    except AssertionError as error:
        raise AssertionError(f"{texts} not in {api.texts(ANN)}: {error}") from error


async def test_a_message_is_answered_and_its_offset_moves_after_the_commit(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        api.say("hello", chat=ANN, user=ANN)
        number = api.updates[-1]["update_id"]
        await shows(here, api, "You said: hello")

        async def confirmed() -> bool:
            return bool(api.confirmed > number)

        await here.until(confirmed)
        status = await here.hermes("gateway", "status", "--json")
        (telegram,) = [row for row in status["channels"] if row["name"] == "telegram"]
        assert telegram["state"] == "connected"
        assert telegram["last_inbound_at"]
        assert telegram["last_poll_at"]
        assert len(model.asked) == 1


async def test_an_update_that_comes_again_after_a_kill_is_not_answered_twice(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, model):
        slowly(model)
        await here.start()
        message = api.say("please wait", chat=ANN, user=ANN)
        await model.reached("wait")
        await here.kill()
        api.push({"message": message})
        model.open("wait")
        await here.start()
        await shows(here, api, "Here it is at last")
        await asyncio.sleep(0.5)
        answers = [text for text in api.texts(ANN) if "Here it is at last" in text]
        assert len(answers) == 1, api.texts(ANN)
        turns = await here.hermes("turns", "list", "--json")
        assert len(turns) == 1


async def test_c54_a_kill_in_the_middle_of_a_draft_leaves_one_answer(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        model.rule = lambda _asked: Says("one two three four five six seven eight", word_s=0.4)
        await here.start()
        api.say("go", chat=ANN, user=ANN)
        await shows(here, api, "one")
        await asyncio.sleep(0.5)  # its receipt becomes durable with the worker's next commit
        await here.kill()
        await here.start()
        whole = "one two three four five six seven eight"

        async def answered() -> bool:
            return whole in api.texts(ANN)

        await here.until(answered)
        assert [text for text in api.texts(ANN) if "one" in text] == [whole]


async def test_c05_c01_a_stop_tells_the_chat_whose_work_it_cuts(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        slowly(model)
        here.configure(gateway={"drain_timeout_s": 1})
        await here.start()
        api.say("hello", chat=ANN, user=ANN)
        await shows(here, api, "You said: hello")
        before = len(api.texts(ANN))
        assert await here.stop() == 0
        assert len(api.texts(ANN)) == before, "nobody was at work: nobody is told"
        await here.start()
        api.say("please wait", chat=ANN, user=ANN)
        await model.reached("wait")
        started = here.started_at()
        here.signal(signal.SIGUSR1)
        await shows(here, api, "I am restarting. I will try to resume this")
        await here.restarted(started)
        model.open("wait")
        await shows(here, api, "Here it is at last")


@pytest.mark.setting("platforms.telegram.banner")
async def test_c05_banners_can_be_turned_off(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        slowly(model)
        telegram = {**here.settings["platforms"]["telegram"], "banner": False}
        here.configure(gateway={"drain_timeout_s": 0.5}, platforms={"telegram": telegram})
        await here.start()
        api.say("please wait", chat=ANN, user=ANN)
        await model.reached("wait")
        assert await here.stop() == 0
        assert [text for text in api.texts(ANN) if "shutting down" in text] == []


async def test_c53_a_flood_wait_survives_a_kill(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, _model):
        await here.start()
        api.fault("sendMessage", "flood", times=1, retry_after=4)
        api.say("hello", chat=ANN, user=ANN)

        async def flooded() -> bool:
            return len(api.called("sendMessage")) >= 1

        await here.until(flooded)
        began = time.monotonic()
        await asyncio.sleep(0.3)
        await here.kill()
        await here.start()
        await shows(here, api, "You said: hello")
        assert time.monotonic() - began >= 3.5
        assert api.texts(ANN).count("You said: hello") == 1


async def test_c51_a_send_whose_answer_was_lost_is_looked_for_and_else_marked(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        api.fault("sendMessage", "lost", times=1)  # accepted, but the answer is lost
        api.say("hello", chat=ANN, user=ANN)
        await here.until(lambda: _is(bool(api.called("deleteMessage"))))
        api.fault("sendMessage", "cut", times=1)  # not accepted
        api.say("again", chat=ANN, user=ANN)
        await shows(here, api, "Perhaps a repeat")
        assert len(model.asked) == 2
        hello, again = api.texts(ANN)
        assert hello == "You said: hello"
        assert again.endswith("You said: again")


async def _is(true: bool) -> bool:
    return true


async def test_c60_c07_a_busy_chat_is_told_once_that_messages_wait(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        slowly(model)
        await here.start()
        api.say("please wait", chat=ANN, user=ANN)
        await model.reached("wait")
        api.say("first", chat=ANN, user=ANN)
        api.say("second", chat=ANN, user=ANN)
        await shows(here, api, "after the message before it")
        model.open("wait")

        async def both() -> bool:
            return any("first" in asked.said and "second" in asked.said for asked in model.asked)

        await here.until(both)
        await shows(here, api, "second")
        told = [text for text in api.texts(ANN) if "after the message before it" in text]
        assert len(told) == 1


async def test_a_stranger_never_reaches_the_model(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        api.say("let me in", chat=99, user=99)
        api.say("hello", chat=ANN, user=ANN)
        await shows(here, api, "You said: hello")
        assert [asked.said for asked in model.asked] == ["hello"]
        assert "99" in api.texts(99)[0]


async def test_send_reaches_a_chat_and_the_chat_knows_it(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        api.say("/sethome", chat=ANN, user=ANN)

        async def home() -> bool:
            return len(api.texts(ANN)) == 1

        await here.until(home)
        sent = await here.hermes("send", "home", "The build is done", "--json")
        assert (sent["state"], sent["target"]) == ("delivered", f"telegram:{ANN}")
        assert sent["receipt"]
        await shows(here, api, "The build is done")
        api.say("which build?", chat=ANN, user=ANN)
        await shows(here, api, "which build")
        assert "The build is done" in model.asked[-1].everything
        await here.stop()
        late = await here.hermes("send", f"telegram:{ANN}", "And without a gateway", "--json")
        assert late["state"] == "delivered"
        await shows(here, api, "And without a gateway")


def state_in(status: Any, name: str) -> tuple[str, str]:
    """Return a channel's state in `hermes gateway status`, and its problem."""
    (row,) = [row for row in status["channels"] if row["name"] == name]
    return row["state"], row["problem"]


async def test_an_answer_that_cannot_be_read_stops_neither_the_start_nor_the_sending(
    tmp_path: Path,
) -> None:
    """Every call gets odd answers for a while; then everything continues, and nothing is lost."""
    async with bot(tmp_path) as (here, api, model):
        api.fault("getMe", "odd", status=200, body='{"ok": true, "result": {"id": []}}')
        await here.start()
        for method in ("sendMessage", "forwardMessage", "sendChatAction"):
            api.fault(method, "odd", status=200, body='{"ok": true, "result": true}', times=2)
        api.say("one", chat=ANN, user=ANN)

        async def failing() -> bool:
            status = await here.hermes("gateway", "status", "--json")
            state, problem = state_in(status, "telegram")
            return state == "failing" and "cannot be read" in problem

        await here.until(failing)
        api.say("two", chat=ANN, user=ANN)
        await shows(here, api, "You said: one", "You said: two")
        assert len(model.asked) == 2

        async def connected() -> bool:
            status = await here.hermes("gateway", "status", "--json")
            return state_in(status, "telegram") == ("connected", "")

        await here.until(connected)
        assert "Traceback" not in here.output()
