"""A channel's door on a real store: what it accepts is in the journal when it returns."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from hermes.channels.webhook.server import WebhookChannel
from hermes.channels.webhook.settings import webhook_settings
from hermes.core.channel import ChannelHost, GatewayStatus
from hermes.core.ids import SessionId
from hermes.core.messages import Inbound, Media
from hermes.core.store import Accepted, Store
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.testing.hosts import FakeHost
from hermes.testing.people import anybody, no_answer

START_S = 60.0

Accept = Callable[[Inbound], Awaitable[Accepted]]


async def _nothing(_what: object) -> None:
    """Nobody waits for this in these tests."""


async def _no_status() -> GatewayStatus:
    raise AssertionError("a webhook does not ask for the status")


async def _no_words(_media: Media) -> None:
    return None


def _no_feed(_key: object) -> "None":
    raise AssertionError("a webhook watches nothing")


def door_on(
    store: Store,
    home: Path,
    *,
    clock: Callable[[], float] = time.time,
    accept: Accept | None = None,
) -> ChannelHost:
    numbers = itertools.count(1)

    async def accepted(inbound: Inbound) -> Accepted:
        opens = SessionId(f"conversation-{next(numbers)}")
        return await store.journal.accept(inbound, opens=opens)

    return FakeHost(
        accept=accept or accepted,
        role=anybody,
        admit_stranger=no_answer,
        deliver=_nothing,
        watch=_no_feed,  # type: ignore[arg-type]
        state=lambda: "ready",
        status=_no_status,
        connected=lambda: None,
        polled=lambda: None,
        describe=_no_words,
        store=store,
        media=FileMediaStore(home / "media"),
        commands=(),
        new_id=lambda: f"id-{next(numbers)}",
        clock=clock,
    )


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[Store]:
    store = await open_sqlite(home / "hermes.db", clock=time.time)
    try:
        yield store
    finally:
        await store.upkeep.close()


@asynccontextmanager
async def listening(
    door: ChannelHost, memory: Path, *, body_s_max: float = START_S, **routes: dict[str, object]
) -> AsyncIterator[str]:
    """A channel on a free port of this machine; its URL."""
    settings = webhook_settings({"port": 0, "routes": routes}, {})
    channel = WebhookChannel(settings, memory=memory, body_s_max=body_s_max)
    ear = asyncio.create_task(channel.listen(door))
    try:
        async with asyncio.timeout(START_S):
            while not channel.port:
                assert not ear.done() or ear.result() is None
                await asyncio.sleep(0.005)
        yield f"http://127.0.0.1:{channel.port}"
    finally:
        ear.cancel()
        await asyncio.wait({ear})
