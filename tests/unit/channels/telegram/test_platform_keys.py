"""The keys that every platform has: each is seen to do what it says, in a chat of the double.

A press is here, too: it works after a restart, because its card stands in the outbox.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, serving
from hermes.app.platforms import platforms_of
from hermes.channels.telegram.client import TelegramChannel
from hermes.channels.telegram.settings import telegram_settings
from hermes.core.errors import Misconfigured
from hermes.core.ids import MessageId, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import TextDelta, Watch
from hermes.gateway.serve import Serving
from hermes.settings import Settings
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from tests.doubles.telegram import BotApi
from tests.unit.channels.telegram.world import QUICK

PATIENCE_S = 60.0
BEGINNING = "I am still thinking about what you said. " * 20
SAYS = "/steer " + "go on with the third plan, please; " * 3
GROUP: dict[str, Any] = {"chat": -5, "type": "group", "title": "Family"}


class SlowModel:
    """Says the beginning of its answer, and the rest when it is let."""

    name = "slow:model"

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked = asyncio.Event()

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        watch(TextDelta(BEGINNING))
        self.asked.set()
        await self.go.wait()
        return Answer(text=f"{BEGINNING} I am here: {request.lines[-1].text[-40:]}")

    async def aclose(self) -> None:
        """There is nothing to close."""


@dataclass
class Chatting:
    api: BotApi
    model: SlowModel
    here: Serving

    async def until(self, true: Any) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not true():  # noqa: ASYNC110 (the double and the gateway run in this loop)
                await asyncio.sleep(0.02)


@asynccontextmanager
async def chatting(home: Path, api: BotApi, **chosen: Any) -> AsyncIterator[Chatting]:
    """A whole gateway whose only platform is Telegram's double."""
    raw = {"token": api.token, "api_base": api.url, "poll_s": 1, "allowed_users": [7], **chosen}
    channel = TelegramChannel(telegram_settings(raw), memory=home / "telegram", patience=QUICK)
    store = await open_sqlite(home / "hermes.db", clock=lambda: 1_700_000_000.0)
    model, ready = SlowModel(), asyncio.Event()
    parts = Parts(
        store=store,
        provider=model,
        tools=StaticToolset(()),
        channels=[channel],
        screens={"telegram": channel},
        media=FileMediaStore(home / "media"),
        role=channel.role,
    )
    here = serving(parts, receivers=[channel])
    running = asyncio.create_task(here.run(ready.set, 0.1))
    try:
        await asyncio.wait_for(ready.wait(), PATIENCE_S)
        yield Chatting(api, model, here)
    finally:
        here.leave("shutdown_timeout")
        await asyncio.wait_for(running, PATIENCE_S)
        await channel.aclose()
        await store.upkeep.close()


async def test_a_person_who_is_allowed_is_answered_and_a_stranger_is_not(tmp_path: Path) -> None:
    async with BotApi() as api, chatting(tmp_path, api) as chat:
        chat.model.go.set()
        api.say("hello")
        api.say("let me in", chat=66, user=66)
        await chat.until(lambda: any("hello" in text for text in api.texts()))
        await chat.until(lambda: api.texts(66))
        assert "Your id is 66" in api.texts(66)[0]


async def test_in_a_chat_that_is_allowed_everybody_may_talk(tmp_path: Path) -> None:
    async with BotApi() as api, chatting(tmp_path, api, allowed_chats=[-5]) as chat:
        chat.model.go.set()
        api.say("@hermes_bot good morning", user=66, **GROUP)
        await chat.until(lambda: any("morning" in text for text in api.texts(-5)))


@pytest.mark.parametrize("required", [True, False])
async def test_in_a_group_it_answers_when_it_is_addressed(tmp_path: Path, required: bool) -> None:
    async with BotApi() as api, chatting(tmp_path, api, require_mention=required) as chat:
        chat.model.go.set()
        api.say("among ourselves", **GROUP)
        api.say("@hermes_bot and you?", **GROUP)
        await chat.until(lambda: any("and you" in text for text in api.texts(-5)))
        heard = any("among ourselves" in text for text in api.texts(-5))
        assert heard != required


@pytest.mark.parametrize("drafts", [True, False])
async def test_a_draft_is_shown_or_not(tmp_path: Path, drafts: bool) -> None:
    async with BotApi() as api, chatting(tmp_path, api, drafts=drafts, receipts=False) as chat:
        api.say("hello")
        if drafts:
            await chat.until(lambda: any(text.startswith("I am still") for text in api.texts()))
        else:
            await chat.until(lambda: api.called("sendChatAction"))
            assert api.texts() == []
        chat.model.go.set()
        await chat.until(lambda: any("here: hello" in text for text in api.texts()))


@pytest.mark.parametrize("banner", [True, False])
async def test_a_stop_is_told_of_or_not(tmp_path: Path, banner: bool) -> None:
    async with BotApi() as api:
        async with chatting(tmp_path, api, banner=banner, drafts=False) as chat:
            api.say("hello")
            await chat.until(chat.model.asked.is_set)
        assert any("shutting down" in text for text in api.texts()) == banner


async def test_p5_a_stored_message_gets_a_sign_until_it_is_answered(tmp_path: Path) -> None:
    async with BotApi() as api, chatting(tmp_path, api, drafts=False) as chat:
        said = api.say("hello")
        where = (7, said["message_id"])
        await chat.until(lambda: api.chats.reactions.get(where) == ["👀"])
        chat.model.go.set()
        await chat.until(lambda: api.chats.reactions[where] == ["👀", ""])
        assert any("here: hello" in text for text in api.texts())


async def test_p5_a_sign_that_a_dead_process_left_is_taken_away(tmp_path: Path) -> None:
    async with BotApi() as api:
        async with chatting(tmp_path, api, drafts=False, banner=False) as chat:
            said = api.say("hello")
            where = (7, said["message_id"])
            await chat.until(lambda: api.chats.reactions.get(where) == ["👀"])
        async with chatting(tmp_path, api, drafts=False, banner=False) as chat:
            chat.model.go.set()
            api.say("/stop")  # whatever is sent there, the message does not wait any more
            await chat.until(lambda: api.chats.reactions[where][-1] == "")


@pytest.mark.setting("platforms.telegram.receipts")
async def test_p5_receipts_can_be_turned_off(tmp_path: Path) -> None:
    async with BotApi() as api, chatting(tmp_path, api, drafts=False, receipts=False) as chat:
        api.say("hello")
        await chat.until(lambda: len(api.called("sendChatAction")) > 1)
        chat.model.go.set()
        await chat.until(api.texts)
        assert api.called("setMessageReaction") == []


async def test_p6_a_long_button_works_after_a_restart(tmp_path: Path) -> None:
    """Its words stand in the card's outbox row; the channel's own folder is gone."""
    async with BotApi() as api:
        async with chatting(tmp_path, api, receipts=False) as chat:
            card = Inbound(
                id=MessageId("card"),
                account="test",
                session=session_key("telegram", "dm", "7"),
                sender=Person(id="hermes"),
                address=Address(platform="telegram", chat="7"),
                text="Which plan?",
                at=1.0,
                origin="relay",
                buttons=(("The third", SAYS),),
            )
            await chat.here.engine.accept(card)
            await chat.until(api.chat)
        ((button,),) = api.chat()[0].buttons
        assert SAYS not in button["callback_data"]
        shutil.rmtree(tmp_path / "telegram", ignore_errors=True)
        async with chatting(tmp_path, api, receipts=False) as chat:
            chat.model.go.set()
            api.press(7, api.chat()[0].message_id, button["callback_data"])
            await chat.until(lambda: len(api.texts()) > 1)
            rows = await chat.here.engine.store.journal.since(card.session, 0)
            heard = [each.inbound.text for each in rows if type(each).__name__ == "MessageReceived"]
            assert SAYS in heard


def test_a_platform_that_is_not_enabled_is_not_made(tmp_path: Path) -> None:
    off = {"telegram": {"enabled": False, "token": "1:abc"}}
    assert [
        each.manifest.name for each in platforms_of(tmp_path, Settings(platforms=off)).channels
    ] == ["local"]


@pytest.mark.parametrize("key", ["allowed_users", "allowed_chats"])
def test_names_are_refused_where_ids_belong(key: str) -> None:
    with pytest.raises(Misconfigured, match="Write ids, not names"):
        telegram_settings({"token": "1:abc", key: ["@ada"]})
