"""One adapter a channel: how its platform delivers a message, acknowledges it, and shows replies.

A new channel adds one class here and runs every law of `test_channel.py` and
`test_channel_kills.py` that its manifest's facts call for. Each speaks to the channel over a real
socket, as its platform or its double does, so the channel may be in this process or in another.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx2

from hermes.channels.api.manifest import MANIFEST as API_FACTS
from hermes.channels.api.server import ApiChannel
from hermes.channels.api.settings import ApiSettings
from hermes.channels.local.client import Attached
from hermes.channels.local.manifest import SERVED
from hermes.channels.local.server import LocalServer
from hermes.channels.webhook.manifest import MANIFEST as WEBHOOK_FACTS
from hermes.channels.webhook.server import WebhookChannel
from hermes.channels.webhook.settings import webhook_settings
from hermes.channels.webhook.translate import signature
from hermes.core.channel import Manifest, Screen
from hermes.core.errors import HermesError
from hermes.core.ids import MessageId, SessionKey, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.people import Role, Sender
from hermes.stores.media import FileMediaStore
from hermes.testing.house import House, Platform

PATIENCE_S = 60.0
KEY = "a-key-for-tests"
SECRET = "correct-horse-battery"
Spec = Mapping[str, str]


class ChannelAdapter(ABC):
    """What the laws need of a platform. It outlives the channel: a test may make several."""

    key: ClassVar[SessionKey]  # the session of its one chat
    facts: ClassVar[Manifest]  # which laws it has to keep
    redelivers: ClassVar[bool] = False  # the platform itself repeats what was not acknowledged

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = 0  # where the channel listens, if it does
        self.alive: Callable[[], bool] = lambda: False  # is there a channel to deliver to?

    @asynccontextmanager
    async def up(self) -> AsyncIterator[None]:
        """The platform is there."""
        yield

    def spec(self) -> Spec:
        """What `built` needs to know, also in another process."""
        return {}

    @classmethod
    @abstractmethod
    def built(cls, spec: Spec, home: Path) -> Platform:
        """The channel, as a start of the gateway makes it."""

    @classmethod
    def port_of(cls, _channel: Any) -> int:
        return 0

    @classmethod
    def role_of(cls, _channel: Any, _sender: Sender) -> Role:
        return Role.OWNER

    @classmethod
    def screens_of(cls, _channel: Any) -> Mapping[str, Screen]:
        return {}

    @classmethod
    async def close(cls, _channel: Any) -> None:
        """When a channel is thrown away."""
        return

    def make(self) -> Platform:
        return self.built(self.spec(), self.home)

    @abstractmethod
    async def deliver(self, id_: str, text: str) -> bool:
        """The platform delivers this message. Is it acknowledged? One that the platform repeats by
        itself counts as acknowledged when it will not come again."""

    @abstractmethod
    async def deliver_stranger(self, text: str) -> bool:
        """Somebody whom nobody knows sends this, with a file. Was it taken?"""

    def told_stranger(self) -> list[str]:
        """What the stranger heard."""
        return []

    def fetched(self) -> int:
        """How many files were fetched from the platform."""
        return 0

    def plain(self, chunk: str) -> str:
        """What people read of a chunk."""
        return chunk


class SendingAdapter(ChannelAdapter):
    """A platform that gets its replies sent: it has chats, buttons, limits and a connection."""

    @abstractmethod
    def say(self, text: str, *, ago_s: float = 0.0) -> None:
        """A person writes, whether a channel is there or not."""

    @abstractmethod
    def shown(self) -> list[str]:
        """What the chat shows of ours: texts and `[file]`, each with its caption."""

    @abstractmethod
    def fail_send(self, kind: str, *, wait_s: float = 3.0, file: bool = False) -> None:
        """The next send fails: `lost` behind the platform's back, or `flood`."""

    @abstractmethod
    def fail_reading(self, kind: str) -> None:
        """The next request for news fails: `cut`, `error`, or `hang` (half open)."""

    @abstractmethod
    def sends(self) -> int:
        """How often the channel tried to send."""

    @abstractmethod
    def press(self, label: str) -> None:
        """The person presses the button with this label on the latest card."""

    @abstractmethod
    def change_token(self) -> None:
        """The platform forgets the token, as after a revocation; or knows it again."""

    @abstractmethod
    def pinged(self) -> list[str]:
        """Whom our messages notified."""

    @abstractmethod
    def readers(self) -> int:
        """How many requests for news came so far."""


class ApiAdapter(ChannelAdapter):
    key = session_key("api", "dm", "main")
    facts = API_FACTS

    @classmethod
    def built(cls, _spec: Spec, _home: Path) -> Platform:
        return ApiChannel(ApiSettings(key=KEY, port=0), model="m")

    @classmethod
    def port_of(cls, channel: Any) -> int:
        return int(channel.bound[1])

    async def deliver(self, id_: str, text: str) -> bool:
        headers = {"X-Hermes-Session-Id": "main", "Idempotency-Key": id_}
        return await self._post(text, KEY, headers) == 200

    async def deliver_stranger(self, text: str) -> bool:
        return await self._post(text, "another-key", {}) != 401

    async def _post(self, text: str, key: str, headers: dict[str, str]) -> int:
        url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        asked = {"model": "hermes", "messages": [{"role": "user", "content": text}]}
        known = {"Authorization": f"Bearer {key}", **headers}
        return await posted(url, json=asked, headers=known)


class WebhookAdapter(ChannelAdapter):
    key = session_key("webhook", "dm", "ci")
    facts = WEBHOOK_FACTS

    @classmethod
    def built(cls, _spec: Spec, home: Path) -> Platform:
        route = {"secret": SECRET, "prompt": "{text}", "session": "route"}
        settings = webhook_settings({"port": 0, "routes": {"ci": route}}, {})
        return WebhookChannel(settings, memory=home / "webhook")

    @classmethod
    def port_of(cls, channel: Any) -> int:
        return int(channel.port)

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
        url = f"http://127.0.0.1:{self.port}/webhooks/ci"
        return await posted(url, content=body, headers=headers)


class LocalAdapter(ChannelAdapter):
    key = session_key("local", "dm", "main")
    facts = SERVED

    @classmethod
    def built(cls, _spec: Spec, home: Path) -> Platform:
        return LocalServer(home / "gateway.sock")

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


async def posted(url: str, **more: Any) -> int:
    """Return the status; 0 when the connection broke before there was one."""
    async with httpx2.AsyncClient(timeout=PATIENCE_S, verify=False) as client:
        try:
            return (await client.post(url, **more)).status_code
        except httpx2.TransportError:
            return 0


async def until(true: Callable[[], object], limit_s: float = PATIENCE_S) -> None:
    """Wait for the other side of a socket."""
    async with asyncio.timeout(limit_s):
        while not true():  # noqa: ASYNC110 (it happens in another process, or in a double)
            await asyncio.sleep(0.01)


async def rested(inside: House, key: SessionKey) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await inside.gateway.settle(key)
