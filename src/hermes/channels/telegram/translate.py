"""Translate Telegram's updates into messages: who speaks, in which session, is it for us? Pure."""

import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.channels.kit.arrival import Arrival
from hermes.channels.kit.media import IncomingFile, quoted_name, sorted_by_size
from hermes.channels.telegram.buttons import Press, press_of
from hermes.channels.telegram.updates import CallbackQuery, TelegramMessage, Update, User
from hermes.channels.telegram.wording import (
    CORRECTED,
    FILE_BYTES_MAX,
    author_bot,
    files_of,
    incoming,
    name_of,
    nouns,
    passed_on,
    quote_of,
    quote_source,
    title_of,
)
from hermes.core.ids import DEFAULT_ISOLATION, Isolation, MessageId, SessionKey, chat_key
from hermes.core.messages import Address, Inbound, Person
from hermes.views.invites import code_in

Kind = Literal["dm", "group", "channel"]

_KINDS: dict[str, Kind] = {
    "private": "dm",
    "group": "group",
    "supergroup": "group",
    "channel": "channel",
}
_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,64})(?:@(\w+))?(?=\s|$)")


class Me(Struct, frozen=True):
    """The bot itself."""

    id: int
    username: str

    @property
    def account(self) -> str:
        return f"telegram:{self.id}"


class Manners(Struct, frozen=True, kw_only=True):
    """How to behave in groups, and which words are commands of ours."""

    require_mention: bool = True
    isolation: Isolation = DEFAULT_ISOLATION
    commands: frozenset[str] = frozenset()  # with their slash
    named: frozenset[str] = frozenset()  # ids of the settings: these bots are heard


class Pressed(Struct, frozen=True, kw_only=True):
    """A pressed button. The message has the button's words, unless they are in the outbox."""

    inbound: Inbound
    query: str
    press: Press
    message: int  # the one with the buttons


def translate(update: Update, me: Me, manners: Manners, *, at: float) -> Arrival | Pressed | None:
    """Translate an update; None for one that is not for us or has nothing to answer."""
    if update.callback_query is not None:
        return _pressed(update.callback_query, me, manners, at)
    first = update.message or update.channel_post
    if first is not None:
        return _heard(first, me, manners, at)
    edited = update.edited_message or update.edited_channel_post
    if edited is not None and edited.location is None:  # a live location is edited all the time
        return _heard(edited, me, manners, at)
    return None


def _heard(message: TelegramMessage, me: Me, manners: Manners, at: float) -> Arrival | None:
    kind = _KINDS.get(message.chat.type)
    speaker = _speaker(message, me, manners)
    if kind is None or speaker is None or message.is_automatic_forward:
        return None
    said = message.text or message.caption
    own = not passed_on(message)
    words = _unaddressed(said, me) if own else said
    if words is None or (kind != "dm" and not _is_for_us(message, words, me, manners)):
        return None
    command = own and _COMMAND.match(words) is not None
    body, files = _content(message, words)
    if not body:
        return None
    inbound = _inbound(message, speaker, (me, manners), at)
    heard = Arrival(
        inbound=replace(inbound, labels=_labels(message, speaker, me), automatic=_is_bot(message)),
        private=kind == "dm",
        lead="" if command else _lead(message, kind, speaker, manners),
        files=files,
        sticker=incoming(message.sticker) if message.sticker is not None else None,
    )
    return heard.saying(_welcome(body, manners) if command else body)


def _pressed(query: CallbackQuery, me: Me, manners: Manners, at: float) -> Pressed | None:
    shown = query.message
    if shown is None or shown.chat.type not in _KINDS or query.sender.is_bot:
        return None
    press = press_of(query.data)
    inbound = _inbound(shown, _person(query.sender), (me, manners), at)
    return Pressed(
        inbound=replace(inbound, id=MessageId(f"cb:{query.id}"), text=press.text),
        query=query.id,
        press=press,
        message=shown.message_id,
    )


def _inbound(
    message: TelegramMessage, speaker: Person, who: tuple[Me, Manners], at: float
) -> Inbound:
    me, manners = who
    kind, chat = _KINDS[message.chat.type], str(message.chat.id)
    thread = _thread(message)
    id_ = f"{chat}:{message.message_id}"
    return Inbound(
        id=MessageId(f"{id_}:edit:{message.edit_date}" if message.edit_date else id_),
        account=me.account,
        session=_lane(kind, chat, thread, speaker, manners.isolation),
        sender=speaker,
        address=Address(platform="telegram", chat=chat, thread=thread, account=me.account),
        text="",
        at=at,
        place=title_of(message.chat) or speaker.name,
        direct=kind == "dm",
    )


def _labels(message: TelegramMessage, speaker: Person, me: Me) -> tuple[str, ...]:
    """Label a message that its sender did not write: forwarded, picked from a bot, or quoted. A
    chat's name can hide any author."""
    quoted = quote_source(message)
    foreign = quoted is not None and not _wrote(quoted, (speaker.id, str(me.id)))
    own = _wrote(message, (speaker.id,)) and not foreign and not _is_bot(message)
    return () if own else ("untrusted",)


def _wrote(message: TelegramMessage, known: tuple[str, ...]) -> bool:
    """Return True if one of these wrote the message."""
    origin = message.forward_origin
    writer = origin.sender_user if origin is not None else message.sender
    named = message.sender_chat is None and author_bot(message) is None
    return named and _writer(writer) in known


def _writer(user: User | None) -> str:
    return str(user.id) if user is not None else ""


def _lane(kind: Kind, chat: str, thread: str, speaker: Person, isolation: Isolation) -> SessionKey:
    return chat_key("telegram", kind, chat, thread=thread, user=speaker.id, isolation=isolation)


def _thread(message: TelegramMessage) -> str:
    """Return the topic; a reply to a reply has such a number as well and is no topic."""
    topic = message.is_topic_message and message.message_thread_id
    return str(message.message_thread_id) if topic else ""


def _is_bot(message: TelegramMessage) -> bool:
    """Return True if another program speaks, which also reads our answers. An anonymous admin is a
    person."""
    user = message.sender
    return message.sender_chat is None and user is not None and user.is_bot


def _speaker(message: TelegramMessage, me: Me, manners: Manners) -> Person | None:
    """Return the sender by the id that never changes. A chat can speak, too: an anonymous admin, a
    channel."""
    if message.sender_chat is not None:
        return Person(id=str(message.sender_chat.id), name=title_of(message.sender_chat))
    user = message.sender
    if user is None or user.id == me.id or (user.is_bot and str(user.id) not in manners.named):
        return None
    return _person(user)


def _person(user: User) -> Person:
    return Person(id=str(user.id), name=name_of(user) or user.username)


def _unaddressed(text: str, me: Me) -> str | None:
    """Return the text without our name at its beginning; None for another bot's command."""
    stripped = re.sub(rf"^\s*@{re.escape(me.username)}\b[\s,:]*", "", text, flags=re.IGNORECASE)
    words = stripped if stripped or not text else text
    command = _COMMAND.match(words)
    if command is None or command[2] is None:
        return words
    if command[2].lower() != me.username.lower():
        return None
    return f"/{command[1]}{words[command.end() :]}"


def _is_for_us(message: TelegramMessage, words: str, me: Me, manners: Manners) -> bool:
    if not manners.require_mention:
        return True
    said = message.text or message.caption
    name = re.escape(me.username)
    if re.search(rf"(?:(?<![\w@])|^/\w+)@{name}(?!\w)", said, re.IGNORECASE):
        return True
    entities = (*message.entities, *message.caption_entities)
    if any(entity.user is not None and entity.user.id == me.id for entity in entities):
        return True
    return _answers_us(message, me) or _names_command(words, manners)


def _answers_us(message: TelegramMessage, me: Me) -> bool:
    """Return True for a reply to us. Every message in a topic replies to the one that opened it;
    that does not count."""
    answered = message.reply_to_message
    if answered is None or answered.forum_topic_created is not None:
        return False
    return answered.sender is not None and answered.sender.id == me.id


def _names_command(words: str, manners: Manners) -> bool:
    command = _COMMAND.match(words)
    return command is not None and f"/{command[1].lower()}" in manners.commands


def _welcome(body: str, manners: Manners) -> str:
    """Handle /start, which Telegram sends when a person opens the bot: it asks for help, or brings
    an invite."""
    if code_in(body):
        return body
    begins = body == "/start" or body.startswith("/start ")
    known = "/start" in manners.commands or "/help" not in manners.commands
    return "/help" if begins and not known else body


def _lead(message: TelegramMessage, kind: Kind, speaker: Person, manners: Manners) -> str:
    shared = manners.isolation.threads if _thread(message) else manners.isolation.groups
    named = f"{quoted_name(speaker.name)} ({speaker.id}): " if speaker.name else f"{speaker.id}: "
    name = named if kind != "dm" and shared == "shared" else ""
    corrected = f"{CORRECTED}\n" if message.edit_date else ""
    return f"{name}{corrected}{quote_of(message)}{passed_on(message)}"


def _content(message: TelegramMessage, words: str) -> tuple[str, tuple[IncomingFile, ...]]:
    """Return the words and the files to fetch. What comes without words is named."""
    files, large = sorted_by_size(files_of(message), FILE_BYTES_MAX)
    said = [words] if words.strip() else [] if large else list(nouns(message))
    return "\n".join([*said, *large]), files
