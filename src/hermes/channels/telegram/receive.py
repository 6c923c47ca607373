"""From an update to an accepted message: files fetched, strangers told, buttons answered. I/O.

Whatever returns from here has been dealt with and may be confirmed to Telegram.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from hermes.channels.telegram.calls import Calls, letter_to
from hermes.channels.telegram.memory import Memory
from hermes.channels.telegram.numbers import Numbers
from hermes.channels.telegram.translate import Heard, Manners, Me, Pressed, translate
from hermes.channels.telegram.updates import Sticker, Update, chat_of, message_of
from hermes.channels.telegram.wording import Wanted, lost, picture_of, sticker_words
from hermes.core.channel import Door
from hermes.core.errors import ChannelFailed, ProviderFailed, Rejected
from hermes.core.messages import Inbound, Media, Spent
from hermes.core.people import Role, sender_of

DAY_S = 24 * 3600.0
STRANGERS_A_DAY_MAX = 100  # who is answered, in all
DESCRIBE_S_MAX = 60.0
WORDS_MAX = 300

STRANGER = (
    "I do not know you, so I cannot talk to you. Your id is {}: my owner can let you in with it."
)
OLD_BUTTON = "This button is too old."
NOT_YOURS = "This question is for somebody else."

log = logging.getLogger("hermes.channels.telegram")


@dataclass(kw_only=True)
class Receiver:
    """One connection's worth: who we are, and at which door we stand."""

    me: Me
    door: Door
    calls: Calls
    numbers: Numbers
    memory: Memory
    manners: Manners
    _answered: deque[float] = field(default_factory=deque)

    async def take_all(self, updates: Iterable[Update]) -> None:
        """In order within a chat, chats side by side. Raises what keeps one from being stored."""
        by_chat: dict[int, list[Update]] = {}
        for update in updates:
            by_chat.setdefault(chat_of(update), []).append(update)
        tasks = [asyncio.create_task(self._in_order(some)) for some in by_chat.values()]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _in_order(self, updates: Iterable[Update]) -> None:
        for update in updates:
            await self.take(update)

    async def take(self, update: Update) -> None:
        if (told := message_of(update)) is not None:
            self.numbers.seen(str(told.chat.id), told.message_id)
        meant = translate(update, self.me, self.manners, at=self.door.clock())
        match meant:
            case Heard():
                await self._hear(meant)
            case Pressed():
                await self._press(meant)
            case None:
                pass

    async def _is_allowed(self, inbound: Inbound) -> bool:
        return await self.door.role(sender_of(inbound)) is not Role.STRANGER

    async def _hear(self, heard: Heard) -> None:
        if not await self._is_allowed(heard.inbound):  # what a stranger sends is not even fetched
            if heard.private:
                await self._turn_away(heard.inbound)
            return
        fetched = self.door.patient(sender_of(heard.inbound))
        try:
            await self.door.accept(await self._whole(heard) if fetched else heard.inbound)
        except Rejected as rejected:
            if str(rejected):
                await self._tell(heard.inbound, f"I could not take that: {rejected}.")

    async def _whole(self, heard: Heard) -> Inbound:
        """The message with its files, or with words about those that did not come."""
        if heard.sticker is not None:
            words, spent = await self._sticker(heard.sticker)
            return replace(heard.saying(words).inbound, spent=spent)
        found: list[Media] = []
        notes: list[str] = []
        for wanted in heard.files:
            media = await self._fetched(wanted)
            if media is None:
                notes.append(lost(wanted))
            else:
                found.append(media)
        told = heard.saying("\n".join([heard.body, *notes])) if notes else heard
        return replace(told.inbound, media=tuple(found))

    async def _fetched(self, wanted: Wanted) -> Media | None:
        content = await self.calls.fetch(wanted.file_id)
        if content is None:
            return None
        try:
            return await self.door.media.put(content, wanted.media_type, wanted.name)
        except Rejected:
            return None

    async def _sticker(self, sticker: Sticker) -> tuple[str, tuple[Spent, ...]]:
        """In words that were found once: the same sticker is never described again."""
        known = await self.memory.get("stickers", sticker.file_unique_id)
        if known:
            return sticker_words(sticker, known), ()
        picture = picture_of(sticker)
        media = await self._fetched(picture) if picture is not None else None
        seen = None
        if media is not None:
            with contextlib.suppress(TimeoutError, ProviderFailed):
                async with asyncio.timeout(DESCRIBE_S_MAX):
                    seen = await self.door.describe(media)
        if seen is None:
            return sticker_words(sticker), ()
        said = " ".join(seen.text.split())[:WORDS_MAX]
        if said:
            await self.memory.put("stickers", sticker.file_unique_id, said)
        return sticker_words(sticker, said), (seen.spent,)

    async def _press(self, pressed: Pressed) -> None:
        press, inbound = pressed.press, pressed.inbound
        text = press.text or await self.memory.get("buttons", press.digest)
        if not text or not press.is_for(inbound.session):
            return await self._answer(pressed, NOT_YOURS if text else OLD_BUTTON)
        try:
            await self.door.accept(replace(inbound, text=text))
        except Rejected as rejected:
            known = await self._is_allowed(inbound)
            why = f"{rejected}." if str(rejected) else ""
            return await self._answer(pressed, why if known else NOT_YOURS)
        await self._answer(pressed)
        with contextlib.suppress(ChannelFailed):
            await self.calls.unbutton(inbound.address.chat, pressed.message)
        return None

    async def _answer(self, pressed: Pressed, words: str = "") -> None:
        with contextlib.suppress(ChannelFailed):
            await self.calls.answer(pressed.query, words)

    async def _turn_away(self, inbound: Inbound) -> None:
        """Once a day, and never to more than a few: strangers cost nothing. One who brings an
        invite, or whom the owner is told of, hears that."""
        now, name = self.door.clock(), inbound.sender.name
        if said := await self.door.knock(sender_of(inbound), name, inbound.text):
            await self._tell(inbound, said)
            return
        while self._answered and self._answered[0] <= now - DAY_S:
            self._answered.popleft()
        last = await self.memory.get("strangers", inbound.sender.id)
        if len(self._answered) >= STRANGERS_A_DAY_MAX or _is_recent(last, now):
            return
        self._answered.append(now)
        if await self.memory.put("strangers", inbound.sender.id, str(now)):
            await self._tell(inbound, STRANGER.format(inbound.sender.id))

    async def _tell(self, inbound: Inbound, text: str) -> None:
        try:
            await self.calls.say(letter_to(inbound.address, text))
        except ChannelFailed as failed:
            log.info("%s could not be told why: %s", inbound.sender.id, failed)


def parsed(raw: Raw | bytes) -> Update | None:
    """None for what nobody can read: it is named in the log, without its words, and skipped."""
    try:
        return msgspec.json.decode(raw, type=Update)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
        log.warning("an update is skipped, it cannot be read: %s", wrong)
        return None


def _is_recent(noted: str, now: float) -> bool:
    try:
        return now - DAY_S < float(noted) <= now + DAY_S
    except ValueError:
        return False
