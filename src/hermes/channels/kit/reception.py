"""The one way in: ask for the role, then fetch files, then accept, then say why not. I/O.

A message that returned from here may be acknowledged to the platform. Nothing is fetched for a
stranger, and nothing is said before the commit.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from hermes.channels.kit.arrival import Arrival, IncomingSticker
from hermes.channels.kit.media import IncomingFile, not_fetched
from hermes.channels.kit.memory import ChannelMemory
from hermes.channels.kit.receipts import Receipts
from hermes.channels.kit.strangers import Strangers
from hermes.core.channel import ChannelHost
from hermes.core.errors import ChannelFailed, ProviderFailed, Rejected
from hermes.core.messages import Inbound, Media, Spent
from hermes.core.people import Role, sender_of

DESCRIBE_S_MAX = 60.0
WORDS_MAX = 300
VOICE = "audio/"
NOT_YOURS = "This question is for another person."

log = logging.getLogger("hermes.channels")

Hear = Callable[[Media], Awaitable[str]]  # the words of a voice message; "": none were understood


class Courier(Protocol):
    """What the reception needs from the platform's client."""

    async def fetch(self, file_id: str) -> bytes | None:
        """Return a file's bytes; None when it cannot be fetched or is too large."""

    async def tell(self, inbound: Inbound, text: str) -> None:
        """Answer beside the conversation. Raises ChannelFailed."""


class Reception:
    """The reception of one connection."""

    def __init__(
        self,
        *,
        title: str,
        host: ChannelHost,
        courier: Courier,
        memory: ChannelMemory,
        receipts: Receipts | None = None,
        hear: Hear | None = None,
    ) -> None:
        """`title` is the platform's name for people. `hear` transcribes voice messages."""
        self._title, self._host, self._courier = title, host, courier
        self._memory, self._hear, self._receipts = memory, hear, receipts
        self._strangers = Strangers(host, memory)

    async def take(self, arrival: Arrival) -> bool:
        """Accept a message. Return True if it is stored, now or before. Raise StoreFailed when it
        could not be."""
        inbound = arrival.inbound
        if await self._host.role(sender_of(inbound)) is Role.STRANGER:
            if arrival.private:
                await self._strangers.turn_away(inbound, self.tell)
            return False
        fetches = self._host.patient(sender_of(inbound))
        try:
            accepted = await self._host.accept(await self._whole(arrival) if fetches else inbound)
        except Rejected as rejected:
            if str(rejected):
                await self.tell(inbound, f"I could not accept that: {rejected}.")
            return False
        if accepted.fresh and self._receipts is not None:
            self._receipts.stored(self._host, inbound)
        return True

    async def press(self, inbound: Inbound) -> str | None:
        """Accept a pressed button. Return None, or the reason for the person who pressed it."""
        if await self._host.role(sender_of(inbound)) > self._least(inbound.text):
            return NOT_YOURS
        try:
            await self._host.accept(inbound)
        except Rejected as rejected:
            return f"{rejected}." if str(rejected) else ""
        return None

    async def tell(self, inbound: Inbound, text: str) -> None:
        try:
            await self._courier.tell(inbound, text)
        except ChannelFailed as failed:
            log.info("%s could not be told why: %s", inbound.sender.id, failed)

    def _least(self, text: str) -> Role:
        """Return the role that a person needs for the command of a button."""
        named = text.split(maxsplit=1)[:1]
        found = (command.least for command in self._host.commands if [command.name] == named)
        return next(found, Role.MEMBER)

    async def _whole(self, arrival: Arrival) -> Inbound:
        """Return the message with its files, or with a note about each that is missing."""
        if arrival.sticker is not None:
            words, spent = await self._described(arrival.sticker)
            return replace(arrival.saying(words).inbound, spent=spent)
        found: list[Media] = []
        notes: list[str] = []
        for file in arrival.files:
            media = await self._fetched(file)
            if media is None:
                notes.append(not_fetched(file, self._title))
            else:
                found.append(media)
        notes += await self._heard(found)
        said = arrival.saying("\n".join([arrival.body, *notes])) if notes else arrival
        return replace(said.inbound, media=tuple(found))

    async def _heard(self, media: Sequence[Media]) -> list[str]:
        if self._hear is None:
            return []
        voices = [each for each in media if each.media_type.startswith(VOICE)]
        words = [await self._hear(voice) for voice in voices]
        return [f"(In words: {said})" for said in words if said]

    async def _fetched(self, file: IncomingFile) -> Media | None:
        content = await self._courier.fetch(file.file_id)
        if content is None:
            return None
        try:
            return await self._host.media.put(content, file.media_type, file.name)
        except Rejected:
            return None

    async def _described(self, sticker: IncomingSticker) -> tuple[str, tuple[Spent, ...]]:
        """Describe a sticker. The description is kept, so no sticker is described twice."""
        known = await self._memory.get("stickers", sticker.id)
        if known:
            return _sticker(known), ()
        media = await self._fetched(sticker.picture) if sticker.picture is not None else None
        seen = None
        if media is not None:
            with contextlib.suppress(TimeoutError, ProviderFailed):
                async with asyncio.timeout(DESCRIBE_S_MAX):
                    seen = await self._host.describe(media)
        if seen is None:
            return sticker.plain, ()
        said = " ".join(seen.text.split())[:WORDS_MAX]
        if said:
            await self._memory.put("stickers", sticker.id, said)
        return _sticker(said) if said else sticker.plain, (seen.spent,)


def _sticker(words: str) -> str:
    return f"(a sticker: {words})"
