"""A chat platform in memory: its chats with edits, files and typing, and its failures.

It outlives the gateway that speaks to it, so a test can end one and begin another.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from hermes.core.channel import ChannelHost, IsReceipt, Manifest
from hermes.core.errors import ChannelRefused
from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Media, Person, Reply

MANIFEST = Manifest(
    name="plaza",
    text_chars_max=200,
    tells_waiting=True,
    banner=True,
    draft_s=0.05,
    edits=True,
    typing_s=4.0,
)


@dataclass
class Plaza:
    """A platform. The next calls raise `failures` one by one; `open` lets receivers connect."""

    manifest: Manifest = MANIFEST
    chats: dict[str, dict[str, str]] = field(default_factory=dict)  # chat: receipt: what it shows
    typed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    deaf: list[Exception] = field(default_factory=list)  # raised when a receiver connects next
    open: asyncio.Event = field(default_factory=asyncio.Event)
    door: ChannelHost | None = None
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

    def draft_text(self, text: str) -> str:
        return f"{text}…"

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

    async def react(self, address: Address, message: MessageId, sign: str) -> None:
        """Its chats show no signs."""

    async def attach(
        self, reply: Reply, media: Media, content: bytes, *, key: str, caption: str = ""
    ) -> str:
        file = f"[{media.name}: {content.decode()}]"
        return self._shown(reply.address, f"{file} {caption}" if caption else file)

    def end_of(self, address: Address) -> str:
        return max(self.chats.get(address.chat, {}), key=int, default="0")

    async def find(
        self, address: Address, chunks: Sequence[str], *, behind: str, known: IsReceipt
    ) -> str:
        for receipt, text in self.chats.get(address.chat, {}).items():
            if int(receipt) > int(behind) and text in chunks and not await known(receipt):
                return receipt
        return ""

    async def find_file(
        self, address: Address, media: Media, size: int, *, key: str, behind: str, known: IsReceipt
    ) -> str:
        for receipt, text in self.chats.get(address.chat, {}).items():
            same = text.startswith(f"[{media.name}: ") and len(text.partition("]")[0]) == (
                len(media.name) + 3 + size
            )
            if int(receipt) > int(behind) and same and not await known(receipt):
                return receipt
        return ""

    async def listen(self, door: ChannelHost) -> None:
        await self.open.wait()
        if self.deaf:
            raise self.deaf.pop(0)
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
