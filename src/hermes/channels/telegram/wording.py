"""What a message is about when it is not text: a place, a poll, a sticker, in a few words. Pure."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from hermes.channels.telegram.updates import Chat, File, Message, Origin, Sticker, User
from hermes.views.quoting import bared, name

FILE_BYTES_MAX = 20_000_000  # what a bot may fetch
NAME_CHARS_MAX = 64
QUOTE_CHARS_MAX = 300
QUOTE_LINES_MAX = 8
OPTIONS_MAX = 12

_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,80}", re.ASCII)

CORRECTED = "(This corrects what I wrote before.)"


class Wanted(Struct, frozen=True, kw_only=True):
    """A file to fetch, and how to call it."""

    file_id: str
    media_type: str
    name: str
    noun: str


def name_of(user: User | None) -> str:
    return one_line(f"{user.first_name} {user.last_name}") if user is not None else ""


def title_of(chat: Chat) -> str:
    return one_line(chat.title or f"{chat.first_name} {chat.last_name}") or one_line(chat.username)


def one_line(text: str) -> str:
    """Without what does not show: a name is chosen by whoever has it."""
    return " ".join(bared(text)[0].split())[:NAME_CHARS_MAX]


def told(text: str) -> str:
    """A name or a title among words of ours, which it cannot end."""
    return name(one_line(text))


def quote_source(message: Message) -> Message | None:
    """The message that is being answered."""
    answered = message.reply_to_message
    return answered if answered is not None and answered.forum_topic_created is None else None


def quote_of(message: Message) -> str:
    """The words that are being answered, as a quote."""
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


def forwarded(origin: Origin) -> str:
    whom = name_of(origin.sender_user) or one_line(origin.sender_user_name)
    chat = origin.chat or origin.sender_chat
    whom = whom or (title_of(chat) if chat is not None else "")
    return f"(Forwarded from {told(whom) if whom else 'somebody'}.)\n"


def files_of(message: Message) -> Iterator[tuple[Wanted, int]]:
    """What came with a message, and how many bytes it has."""
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


def nouns(message: Message) -> Iterator[str]:
    """What a message holds beside text, each in parentheses."""
    for wanted, _ in files_of(message):
        yield f"(a {wanted.noun})"
    if message.sticker is not None:
        yield sticker_words(message.sticker)
    yield from (words for said in _SAID if (words := said(message)))


def too_large(wanted: Wanted, size: int) -> str:
    most = FILE_BYTES_MAX // 1_000_000
    named = f"{wanted.noun}, {told(wanted.name)}," if wanted.noun == "file" else wanted.noun
    return f"(A {named} of {size / 1e6:.0f} MB came with this: too large, the limit is {most} MB.)"


def lost(wanted: Wanted) -> str:
    return f"(A {wanted.noun} came with this, and Telegram did not hand it out.)"


def sticker_words(sticker: Sticker, described: str = "") -> str:
    if described:
        return f"(a sticker: {described})"
    known = [one_line(sticker.emoji), f"from the set {told(sticker.set_name)}"]
    words = " ".join(word for word in known[: 1 + bool(sticker.set_name)] if word)
    return f"(a sticker: {words})" if words else "(a sticker)"


def picture_of(sticker: Sticker) -> Wanted | None:
    """The still picture by which a sticker can be described."""
    still = not sticker.is_animated and not sticker.is_video
    file = sticker if still else sticker.thumbnail
    if file is None or file.file_size > FILE_BYTES_MAX:
        return None
    media_type = "image/webp" if still else "image/jpeg"
    name = f"sticker-{sticker.file_unique_id[:NAME_CHARS_MAX]}"
    return Wanted(file_id=file.file_id, media_type=media_type, name=name, noun="sticker")


def _wanted(file: File, noun: str, media_type: str, ending: str) -> Wanted:
    name = one_line(file.file_name.replace("/", "_")) or f"{noun.replace(' ', '-')}{ending}"
    kind = file.mime_type.lower()
    return Wanted(
        file_id=file.file_id,
        media_type=kind if _MEDIA_TYPE.fullmatch(kind) else media_type,
        name=name,
        noun=noun,
    )


def _place(message: Message) -> str:
    if message.venue is not None:
        named, at = message.venue, message.venue.location
        where = f"{told(named.title)}, {told(named.address)}, "
        return f"(a place: {where}{at.latitude}, {at.longitude})"
    spot = message.location
    return f"(a location: {spot.latitude}, {spot.longitude})" if spot is not None else ""


def _contact(message: Message) -> str:
    who = message.contact
    if who is None:
        return ""
    return f"(a contact: {told(f'{who.first_name} {who.last_name}')}, {told(who.phone_number)})"


def _poll(message: Message) -> str:
    poll = message.poll
    if poll is None:
        return ""
    options = "; ".join(told(option.text) for option in poll.options[:OPTIONS_MAX])
    return f"(a poll: {name(poll.question[:QUOTE_CHARS_MAX])} Options: {options})"


def _dice(message: Message) -> str:
    return f"({message.dice.emoji} {message.dice.value})" if message.dice is not None else ""


_SAID: tuple[Callable[[Message], str], ...] = (_place, _contact, _poll, _dice)
