"""P3: what a manifest says about keys and files is what the delivery does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from hermes.agent.toolsets import StaticToolset
from hermes.app.engine import Parts, build
from hermes.core.channel import Manifest
from hermes.core.errors import ChannelSilent
from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Media, Person, Reply
from hermes.gateway.service import Gateway
from hermes.providers.scripted import Scripted
from hermes.stores.media import FileMediaStore
from hermes.stores.sqlite import open_sqlite
from hermes.testing.house import echo
from tests.doubles.plaza import MANIFEST, Plaza

KEY = chat_key("plaza", "dm", "1")


class Silent(Plaza):
    """Takes the first message and does not say so; keys are forgotten."""

    silences = 1

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        receipt = await super().send(reply, chunk, key=key)
        if self.silences:
            self.silences -= 1
            raise ChannelSilent("no answer", delay_s=0.0)
        return receipt


@asynccontextmanager
async def delivering(home: Path, plaza: Plaza, now: list[float]) -> AsyncIterator[Gateway]:
    store = await open_sqlite(home / "hermes.db", clock=lambda: now[0])
    parts = Parts(
        store=store,
        provider=Scripted(echo),
        tools=StaticToolset(()),
        channels=[plaza],
        screens={"plaza": plaza},
        media=FileMediaStore(home / "media"),
        clock=lambda: now[0],
    )
    gateway = build(parts)
    try:
        async with gateway.joined():
            yield gateway
    finally:
        await store.upkeep.close()


def facts(**more: object) -> Manifest:
    return msgspec.structs.replace(MANIFEST, **more)


def said(text: str, *media: Media, origin: str = "person") -> Inbound:
    return Inbound(
        id=MessageId("1"),
        account="plaza",
        session=KEY,
        sender=Person(id="ann"),
        address=Address(platform="plaza", chat="1"),
        text=text,
        at=1.0,
        media=media,
        origin=origin,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("key_s", [0.0, 120.0])
async def test_a_key_that_is_forgotten_is_looked_for(tmp_path: Path, key_s: float) -> None:
    now = [1000.0]
    plaza = Silent(manifest=facts(on_doubt="same_key", key_s=key_s))
    async with delivering(tmp_path, plaza, now) as gateway:
        await gateway.accept(said("hello"))
        await gateway.settle(KEY)
        await gateway.deliver(KEY)
        now[0] += 600.0
        await gateway.deliver(KEY)
        (row,) = await gateway.store.outbox.rows(KEY, limit=5)
        assert row.state == "delivered"
    # This platform folds nothing by itself: whoever trusts the key alone sends it again.
    assert len(plaza.shows()) == (1 if key_s else 2)


async def test_a_file_beyond_the_limit_is_named_and_not_sent(tmp_path: Path) -> None:
    now = [1000.0]
    plaza = Plaza(manifest=facts(file_bytes_max=1_000_000))
    async with delivering(tmp_path, plaza, now) as gateway:
        media = await gateway.media.put(bytes(2_000_000), "application/zip", "big.zip")
        await gateway.accept(said("Here it is.", media, origin="relay"))
        await gateway.settle(KEY)
        await gateway.deliver(KEY)
    assert plaza.shows()[-1] == "(The file big.zip has 2 MB; at most 1 MB can be sent here.)"
