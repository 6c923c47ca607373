"""A chat platform in memory: what its chats show, with edits, files, typing, and its bad days.

It outlives the gateway that speaks to it, so a test can end one and begin another.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from hermes.core.channel import Door, Known, Manifest
from hermes.core.errors import ChannelFailed, ChannelRefused
from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Media, Person, Reply

MANIFEST = Manifest(
    name="plaza",
    text_chars_max=200,
    tells_waiting=True,
    banner=True,
    draft_s=0.05,
)


@dataclass
class Plaza:
    """`failures` are raised one after the other by whatever is done next; `open` lets ears in."""

    manifest: Manifest = MANIFEST
    chats: dict[str, dict[str, str]] = field(default_factory=dict)  # chat: receipt: what it shows
    typed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failures: list[ChannelFailed] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    door: Door | None = None
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def shows(self, chat: str = "1") -> list[str]:
        return list(self.chats.get(chat, {}).values())

    def render(self, text: str) -> Sequence[str]:
        size = self.manifest.text_chars_max
        return [text[at : at + size] for at in range(0, len(text), size)]

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        return self._shown(reply.address, chunk)

    async def draft(self, address: Address, text: str) -> str:
        return self._shown(address, f"{text}…")

    async def redraft(self, address: Address, receipt: str, text: str) -> None:
        self._changed(address, receipt, f"{text}…")

    async def change(self, reply: Reply, receipt: str, chunk: str) -> str:
        self._changed(reply.address, receipt, chunk)
        return receipt

    async def remove(self, address: Address, receipt: str) -> None:
        self.removed.append(receipt)
        self.chats.get(address.chat, {}).pop(receipt, None)

    async def typing(self, address: Address) -> None:
        self.typed.append(address.chat)

    async def attach(self, reply: Reply, media: Media, content: bytes, *, key: str) -> str:
        return self._shown(reply.address, f"[{media.name}: {content.decode()}]")

    def end_of(self, address: Address) -> str:
        return max(self.chats.get(address.chat, {}), key=int, default="0")

    async def find(self, reply: Reply, chunks: Sequence[str], *, behind: str, known: Known) -> str:
        for receipt, text in self.chats.get(reply.address.chat, {}).items():
            if int(receipt) > int(behind) and text in chunks and not await known(receipt):
                return receipt
        return ""

    async def listen(self, door: Door) -> None:
        await self.open.wait()
        self.door = door
        door.connected()
        await asyncio.Event().wait()

    async def say(self, number: int, text: str, chat: str = "1", sender: str = "ann") -> None:
        assert self.door is not None
        await self.door.accept(
            Inbound(
                id=MessageId(str(number)),
                account="plaza",
                session=chat_key("plaza", "dm", chat),
                sender=Person(id=sender),
                address=Address(platform="plaza", chat=chat),
                text=text,
                at=self.door.clock(),
                place=f"Chat {chat}",
            )
        )

    def _shown(self, address: Address, text: str) -> str:
        self._fail()
        receipt = str(next(self._numbers))
        self.chats.setdefault(address.chat, {})[receipt] = text
        return receipt

    def _changed(self, address: Address, receipt: str, text: str) -> None:
        self._fail()
        if receipt not in self.chats.get(address.chat, {}):
            raise ChannelRefused("there is no such message")
        self.chats[address.chat][receipt] = text

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)
