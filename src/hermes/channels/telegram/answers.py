"""Check the Bot API's answers before the library sees them. Pure.

The library trusts its server and fails in undeclared ways on an answer of another shape. So each
answer is reduced to the fields that we use, and the library gets only those.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from telegram.error import TelegramError

FLOOD_S: Final = 5.0  # where a server says that it is too much, and not for how long
FLOOD_S_MIN: Final = 1.0
TOO_MANY: Final = 429
DIGITS_MAX: Final = 18
# What a decoder raises for bytes that are not what they should be.
UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

T = TypeVar("T")
Number = Annotated[int, Meta(ge=1, le=2**53)]


class FloodWait(TelegramError):
    """Telegram wants no further request for `delay_s`."""

    def __init__(self, delay_s: float) -> None:
        super().__init__(f"Telegram wants a pause of {delay_s:g} s")
        self.delay_s = delay_s


class NotOk(TelegramError):
    """The Bot API's own refusal: it has not done what `method` asked for."""

    def __init__(self, said: str, *, status: int, method: str, moved_to: int | None = None) -> None:
        super().__init__(said)
        self.status, self.method, self.moved_to = status, method, moved_to


class OddAnswer(TelegramError):
    """The answer is not in the Bot API's format: the call may have been done or not."""

    def __init__(self, said: str, *, status: int) -> None:
        super().__init__(said)
        self.status = status


class _Parameters(Struct):
    retry_after: float | None = None
    migrate_to_chat_id: int | None = None


class _Answer(Struct):
    ok: bool
    result: Raw = Raw(b"")
    description: str = ""
    parameters: _Parameters | None = None


class _Sent(Struct):
    message_id: Number


class _Me(Struct):
    id: Number
    username: str | None = None


class _Found(Struct):
    file_path: Annotated[str, Meta(min_length=1)]
    file_size: int | None = None


class _Writer(Struct):
    id: int


class _Origin(Struct):
    sender_user: _Writer | None = None


class _File(Struct):
    """Compare a file as it was sent. Telegram encodes pictures again, so they are left out."""

    file_name: str | None = None
    file_size: int | None = None


class _Copy(Struct):
    text: str | None = None
    document: _File | None = None
    animation: _File | None = None
    audio: _File | None = None
    video: _File | None = None
    voice: _File | None = None
    forward_origin: _Origin | None = None


def checked(status: int, body: bytes, method: str) -> bytes:
    """Return the answer to `method` as the library may read it. Raise FloodWait, NotOk or OddAnswer
    for every other one."""
    answer = _answer(body)
    if status == TOO_MANY:
        asked_s = answer.parameters.retry_after if answer and answer.parameters else None
        raise FloodWait(max(FLOOD_S if asked_s is None else asked_s, FLOOD_S_MIN))
    if answer is None or answer.ok != is_success(status):
        raise OddAnswer(f"its answer cannot be read (status {status})", status=status)
    if not answer.ok:
        said = answer.description or f"status {status}"
        moved_to = answer.parameters.migrate_to_chat_id if answer.parameters else None
        raise NotOk(said, status=status, method=method, moved_to=moved_to)
    try:
        return msgspec.json.encode({"ok": True, "result": _result(method, answer.result)})
    except UNREADABLE as wrong:
        raise OddAnswer(f"its answer to {method} cannot be read", status=status) from wrong


def is_success(status: int) -> bool:
    return 200 <= status <= 299


def decoded(body: bytes, kind: type[T]) -> T:
    """Decode a body. Raise one of UNREADABLE when it holds no such value. Half of a surrogate pair,
    or a number with too many digits, spoils only its own field."""
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE:
        return msgspec.json.decode(_repaired(body), type=kind)


def _repaired(body: bytes) -> bytes:
    try:
        value = json.loads(body, parse_int=_number)
    except (ValueError, RecursionError):
        return body
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _number(digits: str) -> int:
    return int(digits) if len(digits) <= DIGITS_MAX else 0


def _answer(body: bytes) -> _Answer | None:
    """Decode the object that every answer of the Bot API is."""
    try:
        return decoded(body, _Answer)
    except UNREADABLE:
        return None


def _result(method: str, raw: Raw) -> Any:
    """Return what the library needs for its own value. Fields that nothing reads are skipped."""
    match method:
        case "getMe":
            me = msgspec.json.decode(raw, type=_Me)
            return {"id": me.id, "is_bot": True, "first_name": "", "username": me.username}
        case "getFile":
            found = msgspec.json.decode(raw, type=_Found)
            return {"file_id": "", "file_unique_id": "", **msgspec.to_builtins(found)}
        case "sendMessage" | "sendPhoto" | "sendVoice" | "sendDocument":
            return _message(msgspec.json.decode(raw, type=_Sent))
        case "forwardMessage":
            return {**_message(msgspec.json.decode(raw, type=_Sent)), **_shown(raw)}
        case "getUpdates":
            return []  # kept aside, as they came
        case _:
            return True


def _message(sent: _Sent) -> Mapping[str, Any]:
    return {
        "message_id": sent.message_id,
        "date": 0,
        "chat": {"id": 0, "type": "private"},
    }


def _shown(raw: Raw) -> Mapping[str, Any]:
    """Return what a copy shows and whose it is; nothing when that cannot be read, so that the copy
    can be deleted by its number all the same."""
    try:
        copy = msgspec.json.decode(raw, type=_Copy)
    except UNREADABLE:
        return {}
    shown: dict[str, Any] = {"text": copy.text}
    file = copy.document or copy.animation or copy.audio or copy.video or copy.voice
    if file is not None:
        shown["document"] = {"file_id": "", "file_unique_id": "", **msgspec.to_builtins(file)}
    writer = copy.forward_origin.sender_user if copy.forward_origin is not None else None
    if writer is not None:
        user = {"id": writer.id, "is_bot": True, "first_name": ""}
        shown["forward_origin"] = {"type": "user", "date": 0, "sender_user": user}
    return shown
