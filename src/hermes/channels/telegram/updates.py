"""The parts of Telegram's updates that we read. Other fields are ignored."""

from msgspec import Struct, field


class UpdateHead(Struct, frozen=True):
    """What is needed to confirm an update that cannot be decoded."""

    update_id: int


class User(Struct, frozen=True):
    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class TelegramChat(Struct, frozen=True):
    id: int
    type: str
    title: str = ""
    first_name: str = ""
    last_name: str = ""
    username: str = ""


class Entity(Struct, frozen=True):
    type: str
    user: User | None = None


class File(Struct, frozen=True, kw_only=True):
    """Photo size, document, voice, audio, video, video note, animation: they differ in a field."""

    file_id: str
    file_unique_id: str
    file_size: int = 0
    file_name: str = ""
    mime_type: str = ""
    width: int = 0
    height: int = 0


class Sticker(File, frozen=True, kw_only=True):
    emoji: str = ""
    set_name: str = ""
    is_animated: bool = False
    is_video: bool = False
    thumbnail: File | None = None


class Location(Struct, frozen=True):
    latitude: float
    longitude: float


class Venue(Struct, frozen=True):
    location: Location
    title: str
    address: str


class Contact(Struct, frozen=True):
    phone_number: str
    first_name: str
    last_name: str = ""


class PollOption(Struct, frozen=True):
    text: str


class Poll(Struct, frozen=True):
    question: str
    options: tuple[PollOption, ...] = ()


class Dice(Struct, frozen=True):
    emoji: str
    value: int


class Quote(Struct, frozen=True):
    text: str


class ForwardOrigin(Struct, frozen=True):
    """Where a forwarded message came from: a user, a name, a chat."""

    sender_user: User | None = None
    sender_user_name: str = ""
    sender_chat: TelegramChat | None = None
    chat: TelegramChat | None = None


class Started(Struct, frozen=True):
    """A topic was opened; writing in it is no reply to that message."""


class TelegramMessage(Struct, frozen=True, kw_only=True):
    message_id: int
    chat: TelegramChat
    date: int = 0
    sender: User | None = field(default=None, name="from")
    sender_chat: TelegramChat | None = None
    via_bot: User | None = None  # whose inline result it is: the person only chose it
    sender_business_bot: User | None = None  # it wrote in the person's name
    message_thread_id: int = 0
    is_topic_message: bool = False
    is_automatic_forward: bool = False
    forward_origin: ForwardOrigin | None = None
    forum_topic_created: Started | None = None
    reply_to_message: "TelegramMessage | None" = None
    quote: Quote | None = None
    edit_date: int = 0
    text: str = ""
    entities: tuple[Entity, ...] = ()
    caption: str = ""
    caption_entities: tuple[Entity, ...] = ()
    photo: tuple[File, ...] = ()
    document: File | None = None
    voice: File | None = None
    audio: File | None = None
    video: File | None = None
    video_note: File | None = None
    animation: File | None = None
    sticker: Sticker | None = None
    location: Location | None = None
    venue: Venue | None = None
    contact: Contact | None = None
    poll: Poll | None = None
    dice: Dice | None = None


class CallbackQuery(Struct, frozen=True, kw_only=True):
    id: str
    sender: User = field(name="from")
    message: TelegramMessage | None = None
    data: str = ""


class Update(Struct, frozen=True, kw_only=True):
    update_id: int
    message: TelegramMessage | None = None
    edited_message: TelegramMessage | None = None
    channel_post: TelegramMessage | None = None
    edited_channel_post: TelegramMessage | None = None
    callback_query: CallbackQuery | None = None


WANTED = ("message", "edited_message", "channel_post", "edited_channel_post", "callback_query")


def message_of(update: Update) -> TelegramMessage | None:
    """Return the message of an update, or the one whose button was pressed."""
    asked = update.callback_query.message if update.callback_query is not None else None
    posts = (update.message, update.edited_message, update.channel_post, update.edited_channel_post)
    return next((message for message in (*posts, asked) if message is not None), None)


def chat_of(update: Update) -> int:
    """Return the chat of an update; updates of one chat stay in order."""
    found = message_of(update)
    return found.chat.id if found is not None else 0
