"""Describe messages that are not text (a place, a poll, a sticker) in a few words. Pure."""

import re
from collections.abc import Callable, Iterator

from hermes.channels.kit.arrival import IncomingSticker
from hermes.channels.kit.media import NAME_CHARS_MAX, IncomingFile, one_line, quoted_name
from hermes.channels.telegram.updates import (
    File,
    ForwardOrigin,
    Sticker,
    TelegramChat,
    TelegramMessage,
    User,
)
from hermes.text.quoting import name

FILE_BYTES_MAX = 20_000_000  # what a bot may fetch
QUOTE_CHARS_MAX = 300
QUOTE_LINES_MAX = 8
OPTIONS_MAX = 12

_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,80}", re.ASCII)

CORRECTED = "(This corrects what I wrote before.)"


def name_of(user: User | None) -> str:
    return one_line(f"{user.first_name} {user.last_name}") if user is not None else ""


def title_of(chat: TelegramChat) -> str:
    return one_line(chat.title or f"{chat.first_name} {chat.last_name}") or one_line(chat.username)


def quote_source(message: TelegramMessage) -> TelegramMessage | None:
    """Return the message that is replied to."""
    answered = message.reply_to_message
    return answered if answered is not None and answered.forum_topic_created is None else None


def quote_of(message: TelegramMessage) -> str:
    """Return the words that are replied to, as a quote."""
    answered = quote_source(message)
    if answered is None:
        return ""
    said = message.quote.text if message.quote is not None else answered.text or answered.caption
    said = said or next(iter(nouns(answered)), "")
    if not said.strip():
        return ""
    cut = said[:QUOTE_CHARS_MAX] + ("…" if len(said) > QUOTE_CHARS_MAX else "")
    lines = cut.strip().splitlines()[:QUOTE_LINES_MAX]
    return "".join(f"> {line}\n" for line in lines)


def forwarded(origin: ForwardOrigin) -> str:
    whom = name_of(origin.sender_user) or one_line(origin.sender_user_name)
    chat = origin.chat or origin.sender_chat
    whom = whom or (title_of(chat) if chat is not None else "")
    return f"(Forwarded from {quoted_name(whom) if whom else 'somebody'}.)\n"


def author_bot(message: TelegramMessage) -> User | None:
    """Return the bot that wrote a message which a person only picked or signed."""
    return message.via_bot or message.sender_business_bot


def passed_on(message: TelegramMessage) -> str:
    """Return a note that another person wrote the message; empty when its sender did."""
    author = author_bot(message)
    through = ""
    if author is not None:
        whom = name_of(author) or one_line(author.username)
        through = f"(Sent through the bot {quoted_name(whom) if whom else 'that has no name'}.)\n"
    origin = message.forward_origin
    return f"{forwarded(origin) if origin is not None else ''}{through}"


def files_of(message: TelegramMessage) -> Iterator[tuple[IncomingFile, int]]:
    """Return the files of a message with their sizes."""
    if message.photo:
        small = [size for size in message.photo if size.file_size <= FILE_BYTES_MAX]
        best = max(small or message.photo, key=lambda size: size.width * size.height)
        yield _wanted(best, "photo", "image/jpeg", ".jpg"), best.file_size
    kinds = (
        (message.voice, "voice message", "audio/ogg", ".ogg"),
        (message.audio, "piece of audio", "audio/mpeg", ".mp3"),
        (message.video, "video", "video/mp4", ".mp4"),
        (message.video_note, "video message", "video/mp4", ".mp4"),
        (message.animation, "animation", "video/mp4", ".mp4"),
        (None if message.animation else message.document, "file", "application/octet-stream", ""),
    )
    for file, noun, media_type, ending in kinds:
        if file is not None:
            yield _wanted(file, noun, media_type, ending), file.file_size


def nouns(message: TelegramMessage) -> Iterator[str]:
    """Return what a message holds besides text, each in parentheses."""
    for wanted, _ in files_of(message):
        yield f"(a {wanted.noun})"
    if message.sticker is not None:
        yield sticker_words(message.sticker)
    yield from (words for said in _SAID if (words := said(message)))


def sticker_words(sticker: Sticker) -> str:
    known = [one_line(sticker.emoji), f"from the set {quoted_name(sticker.set_name)}"]
    words = " ".join(word for word in known[: 1 + bool(sticker.set_name)] if word)
    return f"(a sticker: {words})" if words else "(a sticker)"


def incoming(sticker: Sticker) -> IncomingSticker:
    picture, plain = picture_of(sticker), sticker_words(sticker)
    return IncomingSticker(id=sticker.file_unique_id, picture=picture, plain=plain)


def picture_of(sticker: Sticker) -> IncomingFile | None:
    """Return the still picture from which a sticker can be described."""
    still = not sticker.is_animated and not sticker.is_video
    file = sticker if still else sticker.thumbnail
    if file is None or file.file_size > FILE_BYTES_MAX:
        return None
    media_type = "image/webp" if still else "image/jpeg"
    name = f"sticker-{sticker.file_unique_id[:NAME_CHARS_MAX]}"
    return IncomingFile(file_id=file.file_id, media_type=media_type, name=name, noun="sticker")


def _wanted(file: File, noun: str, media_type: str, ending: str) -> IncomingFile:
    name = one_line(file.file_name.replace("/", "_")) or f"{noun.replace(' ', '-')}{ending}"
    kind = file.mime_type.lower()
    return IncomingFile(
        file_id=file.file_id,
        media_type=kind if _MEDIA_TYPE.fullmatch(kind) else media_type,
        name=name,
        noun=noun,
    )


def _place(message: TelegramMessage) -> str:
    if message.venue is not None:
        named, at = message.venue, message.venue.location
        where = f"{quoted_name(named.title)}, {quoted_name(named.address)}, "
        return f"(a place: {where}{at.latitude}, {at.longitude})"
    spot = message.location
    return f"(a location: {spot.latitude}, {spot.longitude})" if spot is not None else ""


def _contact(message: TelegramMessage) -> str:
    who = message.contact
    if who is None:
        return ""
    named = quoted_name(f"{who.first_name} {who.last_name}")
    return f"(a contact: {named}, {quoted_name(who.phone_number)})"


def _poll(message: TelegramMessage) -> str:
    poll = message.poll
    if poll is None:
        return ""
    options = "; ".join(quoted_name(option.text) for option in poll.options[:OPTIONS_MAX])
    return f"(a poll: {name(poll.question[:QUOTE_CHARS_MAX])} Options: {options})"


def _dice(message: TelegramMessage) -> str:
    return f"({message.dice.emoji} {message.dice.value})" if message.dice is not None else ""


_SAID: tuple[Callable[[TelegramMessage], str], ...] = (_place, _contact, _poll, _dice)
