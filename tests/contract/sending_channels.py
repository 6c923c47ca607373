"""The adapters of platforms that replies are sent to: Telegram, and a made-up one.

The made-up one keeps no position for us and knows idempotency keys, which Telegram does not.
"""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hermes.channels.telegram.client import TelegramChannel
from hermes.channels.telegram.manifest import manifest_of
from hermes.channels.telegram.render import plain_of
from hermes.channels.telegram.settings import telegram_settings
from hermes.core.channel import Screen
from hermes.core.ids import session_key
from hermes.core.people import Role, Sender
from hermes.testing.house import Platform
from tests.contract.channels import (
    ApiAdapter,
    ChannelAdapter,
    LocalAdapter,
    SendingAdapter,
    Spec,
    WebhookAdapter,
    until,
)
from tests.doubles.channels.pigeon.client import FACTS, PigeonChannel
from tests.doubles.loft import RING, Loft
from tests.doubles.telegram import TOKEN, BotApi
from tests.doubles.telegram_markdown import pinged
from tests.unit.channels.telegram.world import QUICK

OWNER, STRANGER = 7, 66


class TelegramAdapter(SendingAdapter):
    key = session_key("telegram", "dm", "7")
    facts = manifest_of(telegram_settings({"token": TOKEN}))
    redelivers = True

    @asynccontextmanager
    async def up(self) -> AsyncIterator[None]:
        async with BotApi() as self.api:
            self.made: dict[str, dict[str, object]] = {}
            yield

    def spec(self) -> Spec:
        return {"url": self.api.url}

    @classmethod
    def built(cls, spec: Spec, home: Path) -> Platform:
        people = {"allowed_users": [OWNER], "drafts": False, "receipts": False}
        raw = {"token": TOKEN, "api_base": spec["url"], "poll_s": 1, **people}
        return TelegramChannel(telegram_settings(raw), memory=home / "telegram", patience=QUICK)

    @classmethod
    def role_of(cls, channel: Any, sender: Sender) -> Role:
        return channel.role(sender)  # type: ignore[no-any-return]

    @classmethod
    def screens_of(cls, channel: Any) -> Mapping[str, Screen]:
        return {"telegram": channel}

    @classmethod
    async def close(cls, channel: Any) -> None:
        await channel.aclose()

    async def deliver(self, id_: str, text: str) -> bool:
        """As Telegram does after a lost acknowledgement: the same message, a new update."""
        if id_ in self.made:
            update = self.api.push({"message": self.made[id_]})["update_id"]
        else:
            self.made[id_] = self.api.say(text)
            update = self.api.updates[-1]["update_id"]
        await until(lambda: self.api.confirmed > update or not self.alive())
        return bool(self.api.confirmed > update)

    async def deliver_stranger(self, text: str) -> bool:
        file = {"file_id": "virus", "file_size": 5}
        self.api.say(text, chat=STRANGER, user=STRANGER, document=file)
        update = self.api.updates[-1]["update_id"]
        await until(lambda: self.api.confirmed > update)
        return False

    def told_stranger(self) -> list[str]:
        return self.api.texts(STRANGER)

    def fetched(self) -> int:
        return len(self.api.called("getFile"))

    def plain(self, chunk: str) -> str:
        return plain_of(chunk)

    def say(self, text: str, *, ago_s: float = 0.0) -> None:
        self.api.say(text, date=int(time.time() - ago_s))

    def shown(self) -> list[str]:
        own = [each for each in self.api.chat(OWNER) if not each.origin]
        return [
            f"[{each.file.name}] {each.text}".strip() if each.file else each.text for each in own
        ]

    def fail_send(self, kind: str, *, wait_s: float = 3.0, file: bool = False) -> None:
        method = "sendDocument" if file else "sendMessage"
        self.api.fault(method, kind, retry_after=int(wait_s))  # type: ignore[arg-type]

    def fail_reading(self, kind: str) -> None:
        self.api.fault("getUpdates", kind)  # type: ignore[arg-type]

    def sends(self) -> int:
        return len(self.api.called("sendMessage"))

    def press(self, label: str) -> None:
        for shown in reversed(self.api.chat(OWNER)):
            for button in (each for row in shown.buttons for each in row):
                if label in button["text"]:
                    self.api.press(OWNER, shown.message_id, button["callback_data"])
                    return
        raise AssertionError(f"there is no button {label}: {self.api.chat(OWNER)}")

    def change_token(self) -> None:
        self.api.token = TOKEN if self.api.token != TOKEN else "4242:another-token"

    def pinged(self) -> list[str]:
        return [
            name
            for call in self.api.called("sendMessage")
            for name in pinged(call["text"], marked="parse_mode" in call)
        ]

    def readers(self) -> int:
        return len(self.api.called("getUpdates"))


class PigeonAdapter(SendingAdapter):
    key = session_key("pigeon", "dm", "7")
    facts = FACTS
    redelivers = True

    @asynccontextmanager
    async def up(self) -> AsyncIterator[None]:
        async with Loft() as self.loft:
            self.made: dict[str, int] = {}
            yield

    def spec(self) -> Spec:
        return {"url": self.loft.http.url}

    @classmethod
    def built(cls, spec: Spec, home: Path) -> Platform:
        return PigeonChannel(spec["url"], RING, home / "pigeon", people=frozenset({"7"}))

    @classmethod
    def role_of(cls, channel: Any, sender: Sender) -> Role:
        return channel.role(sender)  # type: ignore[no-any-return]

    @classmethod
    def screens_of(cls, channel: Any) -> Mapping[str, Screen]:
        return {"pigeon": channel}

    @classmethod
    async def close(cls, channel: Any) -> None:
        await channel.aclose()

    async def deliver(self, id_: str, text: str) -> bool:
        """The loft keeps everything; that a bird was taken shows in what is asked for next."""
        if id_ in self.made:
            number = self.made[id_]
            self.loft.reread(number)
        else:
            number = self.made[id_] = self.loft.say(text).number
        await until(lambda: self.loft.read_to >= number or not self.alive())
        return self.loft.read_to >= number

    async def deliver_stranger(self, text: str) -> bool:
        number = self.loft.say(text, chat="66").number
        await until(lambda: self.loft.read_to >= number)
        return False

    def told_stranger(self) -> list[str]:
        return self.loft.texts("66")

    def plain(self, chunk: str) -> str:
        return chunk.replace("\uff20", "@")

    def say(self, text: str, *, ago_s: float = 0.0) -> None:
        self.loft.say(text, at=time.time() - ago_s)

    def shown(self) -> list[str]:
        return self.loft.texts()

    def fail_send(self, kind: str, *, wait_s: float = 3.0, file: bool = False) -> None:
        self.loft.fault("/send", kind, wait_s=wait_s)  # type: ignore[arg-type]

    def fail_reading(self, kind: str) -> None:
        self.loft.fault("/news", kind)  # type: ignore[arg-type]

    def sends(self) -> int:
        return self.loft.calls.count("/send")

    def press(self, label: str) -> None:
        for bird in reversed(self.loft.ours()):
            for shown, says in bird.buttons:
                if label in shown:
                    self.loft.say("", press=says)
                    return
        raise AssertionError(f"there is no button {label}: {self.loft.ours()}")

    def change_token(self) -> None:
        self.loft.ring = RING if self.loft.ring != RING else "ring-south"

    def pinged(self) -> list[str]:
        return self.loft.pinged()

    def readers(self) -> int:
        return self.loft.calls.count("/news")


ADAPTERS: tuple[type[ChannelAdapter], ...] = (
    TelegramAdapter,
    ApiAdapter,
    WebhookAdapter,
    LocalAdapter,
    PigeonAdapter,
)


def named(adapter: type[ChannelAdapter]) -> str:
    return adapter.__name__.removesuffix("Adapter").lower()
