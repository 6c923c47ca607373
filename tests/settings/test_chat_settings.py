"""`platforms.telegram.…`, `sessions.…`, `gateway.resume.…`: what people in chats see of them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.testing.model import Asked, Model, Says
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import GatewayProcess, client, free_port, gateway

ANN, BOB = 7, 8
ROOM, OTHER_ROOM = -100, -200
WAIT_S = 60.0


@asynccontextmanager
async def bot(
    folder: Path, telegram: dict[str, Any], **settings: Any
) -> AsyncIterator[tuple[GatewayProcess, BotApi, Model]]:
    async with Model().up() as model, BotApi() as api, gateway(folder, model, **settings) as here:
        known = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN]}
        here.configure(platforms={"telegram": {**known, **telegram}})
        await here.start()
        yield here, api, model


async def shows(here: GatewayProcess, api: BotApi, chat: int, text: str) -> None:
    async def there() -> bool:
        return any(text in shown for shown in api.texts(chat))

    await here.until(there, WAIT_S)


@pytest.mark.setting(
    "platforms.telegram.token",
    "platforms.telegram.api_base",
    "platforms.telegram.poll_s",
    "platforms.telegram.drafts",
)
async def test_the_bot_of_that_token_polls_and_answers_as_it_is_told(tmp_path: Path) -> None:
    async with bot(tmp_path, {"poll_s": 3, "drafts": False}) as (here, api, model):
        model.rule = lambda _asked: Says("one two three four five six", word_s=0.3)
        api.say("hello", chat=ANN, user=ANN)
        await shows(here, api, ANN, "one two three four five six")
        assert api.called("editMessageText") == [], "nothing is shown before it is whole"
        assert len(api.called("sendMessage")) == 1
        assert {call["timeout"] for call in api.called("getUpdates") if call.get("timeout")} == {
            "3"
        }


@pytest.mark.setting("platforms.telegram.allowed_users", "platforms.telegram.allowed_chats")
@pytest.mark.setting("platforms.telegram.require_mention")
@pytest.mark.parametrize("mention", [True, False])
async def test_who_may_talk_to_the_bot_and_how_it_is_called(tmp_path: Path, mention: bool) -> None:
    chosen = {"allowed_users": [ANN], "allowed_chats": [ROOM], "require_mention": mention}
    async with bot(tmp_path, chosen) as (here, api, _model):
        api.say("one", chat=BOB, user=BOB)
        api.say("two", chat=OTHER_ROOM, user=BOB, type="group")
        api.say("three", chat=ROOM, user=BOB, type="group")
        api.say("four", chat=ANN, user=ANN)
        await shows(here, api, ANN, "You said: four")
        called = {"type": "mention", "offset": 0, "length": len("@hermes_bot")}
        api.say("@hermes_bot five", chat=ROOM, user=BOB, type="group", entities=[called])
        await shows(here, api, ROOM, "five")
        assert [text for text in api.texts(BOB) if "You said" in text] == []
        assert api.texts(OTHER_ROOM) == []
        assert any("three" in text for text in api.texts(ROOM)) != mention


@pytest.mark.setting(
    "platforms.telegram.mode",
    "platforms.telegram.webhook.url",
    "platforms.telegram.webhook.host",
    "platforms.telegram.webhook.port",
    "platforms.telegram.webhook.secret",
)
async def test_in_webhook_mode_telegram_calls_us_where_and_as_the_settings_say(
    tmp_path: Path,
) -> None:
    secret, port = "secret-of-the-hook-0123", free_port()
    hook = {"url": "https://hermes.example/bot", "host": "127.0.0.2", "port": port}
    chosen = {"mode": "webhook", "webhook": {**hook, "secret": secret}}
    async with bot(tmp_path, chosen) as (here, api, _model):

        async def registered() -> bool:
            return bool(api.hook)

        await here.until(registered, WAIT_S)
        assert api.hook["url"].startswith("https://hermes.example/bot")
        assert api.hook["secret_token"] == secret
        assert api.called("getUpdates") == []
        api.say("hello", chat=ANN, user=ANN)
        path = api.hook["url"].removeprefix("https://hermes.example")
        proof = "x-telegram-bot-api-secret-token"

        async def status(token: str) -> int:
            async with client(30.0) as http:
                url = f"http://127.0.0.2:{port}{path}"
                update = json.dumps(api.updates[-1])
                got: httpx2.Response = await http.post(url, content=update, headers={proof: token})
                return got.status_code

        assert await status("another-secret-0123456") == 404
        assert await status(secret) == 200
        await shows(here, api, ANN, "You said: hello")


@pytest.mark.setting("sessions.groups", "sessions.threads")
@pytest.mark.parametrize("kept", ["person", "shared"])
async def test_a_room_and_a_thread_have_one_conversation_or_one_for_each_person(
    tmp_path: Path, kept: str
) -> None:
    chosen = {"allowed_chats": [ROOM], "require_mention": False}
    sessions = {"groups": kept, "threads": kept}
    async with bot(tmp_path, chosen, sessions=sessions) as (here, api, model):
        for place in ({}, {"message_thread_id": 5, "is_topic_message": True}):
            room = {"chat": ROOM, "type": "supergroup", **place}
            name = "thread" if place else "room"
            api.say(f"{name} of Ann", user=ANN, **room)
            await shows(here, api, ROOM, f"{name} of Ann")
            api.say(f"{name} of Bob", user=BOB, **room)
            await shows(here, api, ROOM, f"{name} of Bob")
            [asked] = [one for one in model.asked if f"{name} of Bob" in one.said]
            assert (f"{name} of Ann" in asked.everything) == (kept == "shared")


@pytest.mark.setting("gateway.resume.attempts_max")
async def test_a_session_is_suspended_after_that_many_interrupted_runs(tmp_path: Path) -> None:
    async with Model().up() as model, BotApi() as api, gateway(tmp_path, model) as here:

        async def rule(_asked: Asked) -> Says:
            await model.hold("wait")
            return Says("done")

        model.rule = rule
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN]}
        here.configure(platforms={"telegram": telegram}, gateway={"resume": {"attempts_max": 1}})
        await here.start()
        api.say("hello", chat=ANN, user=ANN)
        await model.reached("wait", WAIT_S)
        await here.kill()
        await here.start()

        async def suspended() -> bool:
            rows = await here.get("/v1/sessions")
            return [row["phase"] for row in rows] == ["suspended"]

        await here.until(suspended, WAIT_S)
        assert len(model.asked) == 1
