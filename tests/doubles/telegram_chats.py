"""The chats of the Bot API double: what each shows now, by Telegram's rules."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.telegram_http import Upload
from tests.doubles.telegram_markdown import CannotParse, parse_markdown_v2

TEXT_UNITS_MAX = 4096
BUTTON_BYTES_MAX = 64

Json = dict[str, Any]
Fields = dict[str, str]


class Refusal(Exception):
    def __init__(self, status: int, description: str, parameters: Json | None = None) -> None:
        super().__init__(description)
        self.status = status
        self.parameters = parameters


@dataclass
class Shown:
    """A message as the chat shows it now."""

    message_id: int
    text: str
    marked: bool = False
    entities: list[str] = field(default_factory=list)
    buttons: list[list[Json]] = field(default_factory=list)
    thread: int | None = None
    edits: int = 0
    media: str = ""
    file: Upload | None = None
    origin: int = 0  # the original author, if it is a copy


class Chats:
    """All messages of the bot, by chat."""

    def __init__(self, bot: int = 0) -> None:
        self.bot = bot
        self.said: dict[tuple[int, int], tuple[int, str]] = {}  # chat and number: who, what
        self.shown: dict[int, dict[int, Shown]] = {}
        self.threads_gone: set[int] = set()
        self.last_message = 100
        self.reactions: dict[tuple[int, int], list[str]] = {}  # every sign that a message had

    def send(self, fields: Fields, *, media: str = "", file: Upload | None = None) -> Json:
        thread = int(fields["message_thread_id"]) if "message_thread_id" in fields else None
        if thread in self.threads_gone:
            raise Refusal(400, "Bad Request: message thread not found")
        if media and file is None:
            raise Refusal(400, f"Bad Request: there is no {media} in the request")
        text, entities = (fields.get("caption", ""), []) if media else _checked(fields)
        self.last_message += 1
        chat = int(fields["chat_id"])
        shown = Shown(
            message_id=self.last_message,
            text=text,
            marked="parse_mode" in fields,
            entities=entities,
            buttons=_buttons(fields),
            thread=thread,
            media=media,
            file=file,
        )
        self.shown.setdefault(chat, {})[shown.message_id] = shown
        return _message(chat, shown)

    def edit(self, fields: Fields) -> Json:
        shown = self._found(fields, "Bad Request: message to edit not found")
        (text, entities), buttons = _checked(fields), _buttons(fields)
        if (text, entities, buttons) == (shown.text, shown.entities, shown.buttons):
            raise Refusal(400, "Bad Request: message is not modified: specified new message…")
        shown.text, shown.entities, shown.buttons = text, entities, buttons
        shown.marked = "parse_mode" in fields
        shown.edits += 1
        return _message(int(fields["chat_id"]), shown)

    def edit_buttons(self, fields: Fields) -> Json:
        shown = self._found(fields, "Bad Request: message to edit not found")
        shown.buttons = _buttons(fields)
        return _message(int(fields["chat_id"]), shown)

    def delete(self, fields: Fields) -> bool:
        shown = self._found(fields, "Bad Request: message to delete not found")
        del self.shown[int(fields["chat_id"])][shown.message_id]
        return True

    def react(self, fields: Fields) -> bool:
        where = int(fields["chat_id"]), int(fields["message_id"])
        if where not in self.said:
            raise Refusal(400, "Bad Request: message to react not found")
        signs: list[Json] = json.loads(fields.get("reaction", "[]"))
        self.reactions.setdefault(where, []).append("".join(sign["emoji"] for sign in signs))
        return True

    def forward(self, fields: Fields) -> Json:
        """Copy any message of the chat, with the name of its author."""
        source, number = int(fields["from_chat_id"]), int(fields["message_id"])
        ours = self.shown.get(source, {}).get(number)
        words = (ours.origin or self.bot, ours.text) if ours else self.said.get((source, number))
        if words is None:
            raise Refusal(400, "Bad Request: message to forward not found")
        self.last_message += 1
        chat, (who, text) = int(fields["chat_id"]), words
        copy = Shown(message_id=self.last_message, text=text, origin=who)
        if ours is not None:
            copy.media, copy.file = ours.media, ours.file
        self.shown.setdefault(chat, {})[copy.message_id] = copy
        user = {"id": who, "is_bot": who == self.bot, "first_name": "Ada"}
        origin = {"type": "user", "date": 1_700_000_000, "sender_user": user}
        return {**_message(chat, copy), "forward_origin": origin}

    def _found(self, fields: Fields, why: str) -> Shown:
        shown = self.shown.get(int(fields["chat_id"]), {}).get(int(fields["message_id"]))
        if shown is None:
            raise Refusal(400, why)
        return shown


def _checked(fields: Fields) -> tuple[str, list[str]]:
    text, entities = fields.get("text", ""), []
    if fields.get("parse_mode") == "MarkdownV2":
        try:
            text, marked = parse_markdown_v2(text)
        except CannotParse as wrong:
            raise Refusal(400, str(wrong)) from wrong
        entities = [f"{one.kind}:{one.text}" for one in marked]
    if not text.strip():
        raise Refusal(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le")) // 2 > TEXT_UNITS_MAX:
        raise Refusal(400, "Bad Request: message is too long")
    return text.strip(), entities


def _buttons(fields: Fields) -> list[list[Json]]:
    rows: list[list[Json]] = json.loads(fields.get("reply_markup", "{}")).get("inline_keyboard", [])
    for button in (button for row in rows for button in row):
        if not 0 < len(button["callback_data"].encode()) <= BUTTON_BYTES_MAX:
            raise Refusal(400, "Bad Request: BUTTON_DATA_INVALID")
    return rows


def _message(chat: int, shown: Shown) -> Json:
    place = {"id": chat, "type": "private" if chat > 0 else "supergroup"}
    message = {"message_id": shown.message_id, "date": 1_700_000_000, "chat": place}
    words = "caption" if shown.media else "text"
    return {**message, **({words: shown.text} if shown.text else {}), **_attached(shown)}


def _attached(shown: Shown) -> Json:
    """Return a document's name and size, a voice message's size, or a new picture."""
    if shown.file is None:
        return {}
    file: Json = {"file_id": f"f{shown.message_id}", "file_unique_id": f"u{shown.message_id}"}
    size = len(shown.file.content)
    match shown.media:
        case "document":
            return {"document": {**file, "file_name": shown.file.name, "file_size": size}}
        case "voice":
            return {"voice": {**file, "duration": 1, "file_size": size}}
        case _:
            return {"photo": [{**file, "width": 90, "height": 90, "file_size": size // 2}]}
