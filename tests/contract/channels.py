"""One adapter a channel: how its platform delivers a message, acknowledges it, and shows replies.

A new channel adds one class here and runs every law of `test_channel.py`. Each speaks to the
channel over a real socket, as its platform or its double does.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import httpx2

from hermes.channels.api.server import ApiChannel
from hermes.channels.api.settings import ApiSettings
from hermes.channels.local.client import Attached
from hermes.channels.local.server import LocalServer
from hermes.channels.telegram.client import TelegramChannel
from hermes.channels.telegram.render import plain_of
from hermes.channels.telegram.settings import telegram_settings
from hermes.channels.webhook.server import WebhookChannel
from hermes.channels.webhook.settings import webhook_settings
from hermes.channels.webhook.translate import signature
from hermes.core.channel import Screen
from hermes.core.errors import HermesError
from hermes.core.ids import MessageId, SessionKey, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.people import Role, Sender
from hermes.stores.media import FileMediaStore
from hermes.testing.house import House, Platform
from tests.doubles.telegram import BotApi
from tests.unit.channels.telegram.world import QUICK

PATIENCE_S = 60.0
KEY = "a-key-for-tests"
SECRET = "correct-horse-battery"


class ChannelAdapter(ABC):
    """What the laws need of a platform. It outlives the channel: a test may make several."""

    key: ClassVar[SessionKey]  # the session of its one chat
    redelivers: ClassVar[bool] = False  # the platform itself repeats what was not acknowledged

    def __init__(self, home: Path) -> None:
        self.home = home
        self.listening: asyncio.Task[None] | None = None  # the channel's, while it runs

    @asynccontextmanager
    async def up(self) -> AsyncIterator[None]:
        """The platform is there."""
        yield

    @abstractmethod
    def make(self) -> Platform:
        """The channel, as a start of the gateway makes it."""

    @abstractmethod
    async def deliver(self, id_: str, text: str) -> bool:
        """The platform delivers this message. Is it acknowledged? One that the platform repeats by
        itself counts as acknowledged when it will not come again."""

    @abstractmethod
    async def deliver_stranger(self, text: str) -> bool:
        """Somebody whom nobody knows sends this. Was it taken?"""

    def role(self, _sender: Sender) -> Role:
        return Role.OWNER

    def plain(self, chunk: str) -> str:
        """What people read of a chunk."""
        return chunk

    @property
    def screens(self) -> Mapping[str, Screen]:
        return {}

    async def close(self) -> None:
        """When a channel is thrown away."""
        self.listening = None


class TelegramAdapter(ChannelAdapter):
    key = session_key("telegram", "dm", "7")
    redelivers = True

    @asynccontextmanager
    async def up(self) -> AsyncIterator[None]:
        async with BotApi() as self.api:
            self.made: dict[str, dict[str, object]] = {}
            yield

    def make(self) -> Platform:
        raw = {"token": self.api.token, "api_base": self.api.url, "allowed_users": [7], "poll_s": 1}
        self.channel = TelegramChannel(
            telegram_settings(raw), memory=self.home / "telegram", patience=QUICK
        )
        return self.channel

    async def deliver(self, id_: str, text: str) -> bool:
        """As Telegram does after a lost acknowledgement: the same message, a new update."""
        if id_ in self.made:
            update = self.api.push({"message": self.made[id_]})["update_id"]
        else:
            self.made[id_] = self.api.say(text)
            update = self.api.updates[-1]["update_id"]
        async with asyncio.timeout(PATIENCE_S):
            while True:
                if self.api.confirmed > update:
                    return True
                if self.listening is None or self.listening.done():
                    return False
                await asyncio.sleep(0.01)

    async def deliver_stranger(self, text: str) -> bool:
        self.api.say(text, chat=66, user=66, document={"file_id": "virus", "file_size": 5})
        update = self.api.updates[-1]["update_id"]
        async with asyncio.timeout(PATIENCE_S):
            while self.api.confirmed <= update:  # noqa: ASYNC110 (the double runs in this loop)
                await asyncio.sleep(0.01)
        assert self.api.called("getFile") == [], "nothing is fetched for a stranger"
        assert len(self.api.texts(66)) <= 1, "a stranger hears one answer a day"
        return False

    def role(self, sender: Sender) -> Role:
        return self.channel.role(sender)

    def plain(self, chunk: str) -> str:
        return plain_of(chunk)

    @property
    def screens(self) -> Mapping[str, Screen]:
        return {"telegram": self.channel}

    async def close(self) -> None:
        await super().close()
        await self.channel.aclose()


class ApiAdapter(ChannelAdapter):
    key = session_key("api", "dm", "main")

    def make(self) -> Platform:
        self.channel = ApiChannel(ApiSettings(key=KEY, port=0), model="m")
        return self.channel

    async def deliver(self, id_: str, text: str) -> bool:
        headers = {"X-Hermes-Session-Id": "main", "Idempotency-Key": id_}
        return await self._post(text, KEY, headers) == 200

    async def deliver_stranger(self, text: str) -> bool:
        return await self._post(text, "another-key", {}) != 401

    async def _post(self, text: str, key: str, headers: dict[str, str]) -> int:
        assert self.channel.bound is not None
        host, port = self.channel.bound
        url = f"http://{host}:{port}/v1/chat/completions"
        asked = {"model": "hermes", "messages": [{"role": "user", "content": text}]}
        async with httpx2.AsyncClient(timeout=PATIENCE_S, verify=False) as client:
            known = {"Authorization": f"Bearer {key}", **headers}
            return (await client.post(url, json=asked, headers=known)).status_code


class WebhookAdapter(ChannelAdapter):
    key = session_key("webhook", "dm", "ci")

    def make(self) -> Platform:
        route = {"secret": SECRET, "prompt": "{text}", "session": "route"}
        settings = webhook_settings({"port": 0, "routes": {"ci": route}}, {})
        self.channel = WebhookChannel(settings, memory=self.home / "webhook")
        return self.channel

    async def deliver(self, id_: str, text: str) -> bool:
        return await self._post(id_, text, SECRET) in (200, 202)

    async def deliver_stranger(self, text: str) -> bool:
        return await self._post("stranger", text, "another-secret") in (200, 202)

    async def _post(self, id_: str, text: str, secret: str) -> int:
        stamp, body = str(int(time.time())), f'{{"text": "{text}"}}'.encode()
        headers = {
            "X-Hermes-Timestamp": stamp,
            "X-Hermes-Signature": signature(secret, f"{stamp}.".encode() + body),
            "X-Hermes-Delivery": id_,
        }
        url = f"http://127.0.0.1:{self.channel.port}/webhooks/ci"
        async with httpx2.AsyncClient(timeout=PATIENCE_S, verify=False) as client:
            return (await client.post(url, content=body, headers=headers)).status_code


class LocalAdapter(ChannelAdapter):
    key = session_key("local", "dm", "main")

    def make(self) -> Platform:
        return LocalServer(self.home / "gateway.sock")

    async def deliver(self, id_: str, text: str) -> bool:
        return await self._say(id_, text, account="local")

    async def deliver_stranger(self, text: str) -> bool:
        """The socket is the owner's alone; a chat that speaks for another account is refused."""
        return await self._say("stranger", text, account="telegram:1")

    async def _say(self, id_: str, text: str, *, account: str) -> bool:
        media = FileMediaStore(self.home / "media")
        attached = await Attached.to(self.home / "gateway.sock", media=media)
        assert attached is not None
        said = Inbound(
            id=MessageId(id_),
            account=account,
            session=self.key,
            sender=Person(id="owner"),
            address=Address(platform="local", chat="main"),
            text=text,
            at=time.time(),
        )
        try:
            await attached.say(said)
        except HermesError:
            return False
        finally:
            await attached.close()
        return True


ADAPTERS = (TelegramAdapter, ApiAdapter, WebhookAdapter, LocalAdapter)


async def rested(inside: House, key: SessionKey) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await inside.gateway.settle(key)
