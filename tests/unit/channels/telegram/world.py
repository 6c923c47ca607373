"""A Telegram channel between a Bot API double and a real journal."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes.app.engine import new_id
from hermes.channels.telegram.client import TelegramChannel
from hermes.channels.telegram.poll import PollTimeouts
from hermes.channels.telegram.settings import telegram_settings
from hermes.core.channel import ChannelHost, Command, Considered, Feed, GatewayStatus
from hermes.core.ids import DEFAULT_ISOLATION, Isolation, NodeId, ReplyId, SessionKey, session_key
from hermes.core.messages import Address, Inbound, Media, Reply, Spent, Usage
from hermes.core.people import Role, Sender
from hermes.core.rules import Busy
from hermes.core.store import Accepted, Store
from hermes.gateway.inbound_rate import InboundRate
from hermes.gateway.intake import Intake
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.testing.hosts import FakeHost
from hermes.testing.people import no_answer
from tests.doubles.telegram import BotApi

SPENT = Spent(purpose="vision", model="m", usage=Usage(input=7))
ANY_NUMBER = InboundRate(a_minute=0, clock=time.monotonic)
QUICK = PollTimeouts(silence_s=0.4, pause_s=0.02)
WAIT_S = 60.0
COMMANDS = (
    Command(name="/help", busy=Busy.NOW, summary="What I can do"),
    Command(name="/stop", busy=Busy.NOW, summary="Stop"),
    Command(name="/steer", busy=Busy.NOW, summary="Say more", argument="TEXT"),
)


@dataclass(kw_only=True)
class World:
    api: BotApi
    channel: TelegramChannel
    store: Store
    door: ChannelHost
    accepted: list[Inbound]
    troubles: list[Exception]  # what the next accepts raise
    described: list[Media]
    polls: list[float]
    connected: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, true: Callable[[], object]) -> None:
        """Wait for the other side of a socket."""
        async with asyncio.timeout(WAIT_S):
            while not true():  # noqa: ASYNC110 (the double and the channel run in this loop)
                await asyncio.sleep(0.005)

    async def heard(self, count: int) -> list[Inbound]:
        await self.until(lambda: len(self.accepted) >= count)
        return self.accepted

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["asyncio.Task[None]"]:
        task = asyncio.create_task(self.channel.listen(self.door))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait({task})


@asynccontextmanager
async def world(
    home: Path,
    *,
    isolation: Isolation = DEFAULT_ISOLATION,
    patience: PollTimeouts = QUICK,
    words: str = "a cat in a hat",
    **settings: Any,
) -> AsyncIterator[World]:
    """`settings` are those of platforms.telegram; people 7 and 8 are let in."""
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    async with BotApi() as api:
        raw = {"token": api.token, "api_base": api.url, "poll_s": 1, "allowed_users": [7, "8"]}
        channel = TelegramChannel(
            telegram_settings({**raw, **settings}),
            memory=home / "telegram",
            isolation=isolation,
            patience=patience,
        )
        try:
            yield _made(api, channel, store, home, words)
        finally:
            await channel.aclose()
            await store.upkeep.close()


def _made(api: BotApi, channel: TelegramChannel, store: Store, home: Path, words: str) -> World:
    accepted: list[Inbound] = []
    troubles: list[Exception] = []
    described: list[Media] = []
    polls: list[float] = []
    connected = asyncio.Event()

    async def role(sender: Sender) -> Role:
        return channel.role(sender)

    intake = Intake(
        journal=store.journal,
        clean=lambda inbound: inbound,
        role=role,
        measure=ANY_NUMBER,
        new_id=new_id,
        emit=lambda _signal: None,
        node=NodeId("n"),
    )

    async def accept(inbound: Inbound) -> Accepted:
        if troubles:
            raise troubles.pop(0)
        result = await intake.accept(inbound)
        if result.fresh:
            accepted.append(inbound)
        return result

    async def describe(media: Media) -> Considered | None:
        described.append(media)
        return Considered(text=words, spent=SPENT) if words else None

    door = FakeHost(
        accept=accept,
        role=role,
        admit_stranger=no_answer,
        deliver=_never_delivered,
        watch=_never_watched,
        state=lambda: "ready",
        status=_never_asked,
        connected=connected.set,
        polled=lambda: polls.append(time.monotonic()),
        describe=describe,
        store=store,
        media=FileMediaStore(home / "media"),
        commands=COMMANDS,
        new_id=new_id,
        clock=time.time,
    )
    return World(
        api=api,
        channel=channel,
        store=store,
        door=door,
        accepted=accepted,
        troubles=troubles,
        described=described,
        polls=polls,
        connected=connected,
    )


async def _never_delivered(_key: SessionKey) -> None:
    raise AssertionError("this channel sends when it is told to")


@contextmanager
def _never_watched(_key: SessionKey | None) -> Iterator[Feed]:
    raise AssertionError("this channel is shown drafts")
    yield


async def _never_asked() -> GatewayStatus:
    raise AssertionError("nobody asks")


def reply(text: str, *, chat: int = 7, thread: str = "", **more: Any) -> Reply:
    address = Address(platform="telegram", chat=str(chat), thread=thread)
    lane = more.pop("session", session_key("telegram", "dm", str(chat)))
    return Reply(id=ReplyId("turn/0"), session=lane, address=address, text=text, **more)
