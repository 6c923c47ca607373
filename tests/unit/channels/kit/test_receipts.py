"""P5: a sign on a stored message, only where the platform has reactions and the owner wants it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from hermes.channels.kit.memory import ChannelMemory
from hermes.channels.kit.receipts import SIGHT_S, Receipts
from hermes.core.channel import ChannelHost, Manifest, Screen
from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Person

SAID = Inbound(
    id=MessageId("1"),
    account="plaza",
    session=chat_key("plaza", "dm", "1"),
    sender=Person(id="ann"),
    address=Address(platform="plaza", chat="1"),
    text="hello",
    at=1.0,
)


class Signs:
    """A screen that only notes reactions."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def react(self, _address: Address, _message: MessageId, sign: str) -> None:
        self.seen.append(sign)


async def spare(_address: Address, act: Callable[[], Awaitable[None]]) -> bool:
    await act()
    return True


@pytest.mark.parametrize(
    ("reactions", "receipts", "shown"),
    [(True, True, ["👀"]), (False, True, []), (True, False, [])],
)
async def test_the_manifest_decides_whether_a_stored_message_gets_a_sign(
    tmp_path: Path, reactions: bool, receipts: bool, shown: list[str]
) -> None:
    signs = Signs()
    facts = Manifest(name="plaza", reactions=reactions, receipts=receipts)
    made = Receipts(cast("Screen", signs), ChannelMemory(tmp_path), facts)
    made.stored(cast("ChannelHost", SimpleNamespace(spare=spare)), SAID)
    await asyncio.sleep(SIGHT_S + 0.3 if not shown else 0)
    async with asyncio.timeout(30):
        while signs.seen != shown:  # noqa: ASYNC110 (the sign comes by the clock)
            await asyncio.sleep(0.02)
    await made.close()
