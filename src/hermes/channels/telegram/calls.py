"""The calls to the Bot API that we make, with its failures as our errors. I/O."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    Message,
    MessageOriginUser,
    ReactionTypeEmoji,
)
from telegram.constants import ChatAction, ParseMode

from hermes.channels.telegram.buttons import Button
from hermes.channels.telegram.failures import Moved, NoThread, Unreadable
from hermes.channels.telegram.line import BotConnection
from hermes.channels.telegram.manifest import UPLOAD_BYTES_MAX
from hermes.channels.telegram.numbers import UpdateNumbers
from hermes.channels.telegram.render import plain_of
from hermes.channels.telegram.wording import FILE_BYTES_MAX
from hermes.core.errors import ChannelBusy, ChannelDown, ChannelRefused
from hermes.core.messages import Address, Media

FETCH_TRIES, FETCH_PAUSE_S, FETCH_S_MAX = 4, 1.0, 60.0
UPLOAD_S_MAX = 300.0
PHOTO_BYTES_MAX = 10_000_000
# Telegram encodes these pictures again, and keeps neither name nor size.
PHOTOS = frozenset({"image/jpeg", "image/png", "image/webp"})
VOICES = frozenset({"audio/ogg", "audio/opus"})
ADJUSTMENTS_MAX = 3
REMOVALS_MAX, REMOVAL_S_MAX = 3, 5.0

log = logging.getLogger("hermes.channels.telegram")

_PREVIEWS_OFF = LinkPreviewOptions(is_disabled=True)


class Letter(Struct, frozen=True, kw_only=True):
    """A text for a chat; with `marked` it is MarkdownV2."""

    chat: str
    thread: str = ""
    text: str
    marked: bool = False
    buttons: Sequence[Sequence[Button]] = ()


class SeenMessage(Struct, frozen=True):
    """A message of a chat and its author; 0: not a user's. For a file its name and size, as far as
    Telegram keeps them; -1: it has none."""

    text: str
    sender: int
    name: str = ""
    size: int = -1


def letter_to(address: Address, text: str) -> Letter:
    return Letter(chat=address.chat, thread=address.thread, text=text)


def is_photo(media: Media, size: int) -> bool:
    return media.media_type in PHOTOS and size <= PHOTO_BYTES_MAX


class BotApi:
    """Send, change and delete messages. Raises only ChannelFailed."""

    def __init__(self, line: BotConnection, numbers: UpdateNumbers) -> None:
        self._line = line
        self._numbers = numbers

    async def say(self, letter: Letter) -> int:
        """Send a text. Return the message's id."""
        for _ in range(ADJUSTMENTS_MAX):
            try:
                return await self._say(letter)
            except (Unreadable, NoThread, Moved) as refused:
                letter = _adjusted(letter, refused)
        return await self._say(letter)

    async def change(self, letter: Letter, message: int) -> None:
        try:
            await self._change(letter, message)
        except (Unreadable, Moved) as refused:
            await self._change(_adjusted(letter, refused), message)

    async def remove(self, chat: str, message: int) -> None:
        await self._line.ask(self._line.bot.delete_message(_chat(chat), message))

    async def look(self, address: Address, message: int) -> SeenMessage | None:
        """Return a message as the chat shows it; None if the chat has no message of this number.
        Telegram shows one only as a forwarded copy, which is sent silently and deleted at once."""
        bot, chat = self._line.bot, _chat(address.chat)
        copying = bot.forward_message(
            chat,
            chat,
            message,
            disable_notification=True,
            message_thread_id=_thread(address.thread),
        )
        try:
            copy = await self._line.ask(copying)
        except ChannelRefused:
            return None
        await self._take_away(address.chat, copy.message_id)
        origin = copy.forward_origin
        sender = origin.sender_user.id if isinstance(origin, MessageOriginUser) else 0
        file = copy.document
        if file is None:
            return SeenMessage(copy.text or "", sender)
        return SeenMessage(copy.text or "", sender, file.file_name or "", file.file_size or -1)

    async def _take_away(self, chat: str, copy: int) -> None:
        for _ in range(REMOVALS_MAX):
            try:
                return await self.remove(chat, copy)
            except ChannelDown as down:
                await asyncio.sleep(min(down.delay_s, REMOVAL_S_MAX))
            except ChannelRefused:
                break
        log.warning("a copy could not be deleted: message %d", copy)
        return None

    async def react(self, chat: str, message: int, sign: str) -> None:
        signs = [ReactionTypeEmoji(sign)] if sign else []
        await self._line.ask(self._line.bot.set_message_reaction(_chat(chat), message, signs))

    async def typing(self, address: Address) -> None:
        sign = self._line.bot.send_chat_action(
            _chat(address.chat), ChatAction.TYPING, message_thread_id=_thread(address.thread)
        )
        await self._line.ask(sign)

    async def attach(
        self, address: Address, media: Media, content: bytes, caption: str = ""
    ) -> int:
        """Send a file as something that people see or hear at once, else as a document."""
        if len(content) > UPLOAD_BYTES_MAX:
            raise ChannelRefused(f"a bot may send {UPLOAD_BYTES_MAX // 1_000_000} MB at most")
        try:
            return await self._attach(address, media, content, caption, plain=False)
        except Moved as moved:
            address = replace(address, chat=moved.chat)
        except NoThread:
            address = replace(address, thread="")
        except ChannelRefused:
            if media.media_type not in PHOTOS | VOICES:
                raise
        return await self._attach(address, media, content, caption, plain=True)

    async def answer(self, query: str, words: str = "") -> None:
        """End the spinner of a pressed button; people see the words for a moment."""
        await self._line.ask(self._line.bot.answer_callback_query(query, text=words or None))

    async def unbutton(self, chat: str, message: int) -> None:
        bare = self._line.bot.edit_message_reply_markup(
            chat_id=_chat(chat), message_id=message, reply_markup=None
        )
        await self._line.ask(bare)

    async def fetch(self, file_id: str) -> bytes | None:
        """Return a file's bytes; None when Telegram does not provide it after several tries."""
        for n in range(FETCH_TRIES):
            try:
                async with asyncio.timeout(FETCH_S_MAX):
                    return await self._fetch(file_id)
            except (ChannelDown, TimeoutError) as down:
                wait_s = down.delay_s if isinstance(down, ChannelBusy) else FETCH_PAUSE_S * 2**n
                if n + 1 < FETCH_TRIES:
                    await asyncio.sleep(min(wait_s, FETCH_S_MAX))
            except ChannelRefused:
                return None
        return None

    async def _say(self, letter: Letter) -> int:
        sent = self._line.bot.send_message(
            _chat(letter.chat),
            letter.text,
            parse_mode=ParseMode.MARKDOWN_V2 if letter.marked else None,
            message_thread_id=_thread(letter.thread),
            reply_markup=_keyboard(letter.buttons),
            link_preview_options=_PREVIEWS_OFF,
        )
        return self._sent(letter.chat, (await self._line.ask(sent)).message_id)

    def _sent(self, chat: str, message: int) -> int:
        self._numbers.sent(chat, message)
        return message

    async def _change(self, letter: Letter, message: int) -> None:
        changed = self._line.bot.edit_message_text(
            letter.text,
            chat_id=_chat(letter.chat),
            message_id=message,
            parse_mode=ParseMode.MARKDOWN_V2 if letter.marked else None,
            reply_markup=_keyboard(letter.buttons),
            link_preview_options=_PREVIEWS_OFF,
        )
        await self._line.ask(changed)

    async def _attach(
        self, address: Address, media: Media, content: bytes, caption: str, *, plain: bool
    ) -> int:
        bot, chat, thread = self._line.bot, _chat(address.chat), _thread(address.thread)
        send: Callable[..., Coroutine[Any, Any, Message]] = bot.send_document
        if is_photo(media, len(content)) and not plain:
            send = bot.send_photo
        elif media.media_type in VOICES and not plain:
            send = bot.send_voice
        words, name = caption or None, media.name or "file"
        sent = send(chat, content, filename=name, caption=words, message_thread_id=thread)
        message = await self._line.ask(sent, within_s=UPLOAD_S_MAX)
        return self._sent(address.chat, message.message_id)

    async def _fetch(self, file_id: str) -> bytes | None:
        file = await self._line.ask(self._line.bot.get_file(file_id))
        if (file.file_size or 0) > FILE_BYTES_MAX or not self._line.serves(file.file_path or ""):
            return None
        content = bytes(await self._line.ask(file.download_as_bytearray(read_timeout=FETCH_S_MAX)))
        return content if len(content) <= FILE_BYTES_MAX else None


def _adjusted(letter: Letter, refused: ChannelRefused) -> Letter:
    """Return the same text in a form that Telegram may accept."""
    match refused:
        case Unreadable():
            return replace(letter, text=plain_of(letter.text), marked=False)
        case Moved():
            return replace(letter, chat=refused.chat)
        case _:
            return replace(letter, thread="")


def _chat(chat: str) -> int | str:
    return int(chat) if chat.lstrip("-").isdecimal() else chat


def _thread(thread: str) -> int | None:
    return int(thread) if thread.isdecimal() else None


def _keyboard(buttons: Sequence[Sequence[Button]]) -> InlineKeyboardMarkup | None:
    if not buttons:
        return None
    rows = [[InlineKeyboardButton(b.label, callback_data=b.code) for b in row] for row in buttons]
    return InlineKeyboardMarkup(rows)
