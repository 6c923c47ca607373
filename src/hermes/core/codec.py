"""Values to bytes and back. The only place that knows how they look on disk."""

from typing import TypeVar

import msgspec

from hermes.core.errors import RowUnreadable
from hermes.core.events import Event
from hermes.core.messages import Line, Reply
from hermes.core.session import Session

T = TypeVar("T")

_encoder = msgspec.json.Encoder()
_events: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_sessions = msgspec.json.Decoder(Session)
_lines = msgspec.json.Decoder(Line)
_replies = msgspec.json.Decoder(Reply)


def encode(value: Event | Session | Line | Reply) -> bytes:
    return _encoder.encode(value)


def kind_of(event: Event) -> str:
    """The tag under which the event is stored, say `call_started.1`."""
    return str(type(event).__struct_config__.tag)


def decode_event(raw: bytes) -> Event:
    return _decoded(_events, raw)


def decode_session(raw: bytes) -> Session:
    return _decoded(_sessions, raw)


def decode_line(raw: bytes) -> Line:
    return _decoded(_lines, raw)


def decode_reply(raw: bytes) -> Reply:
    return _decoded(_replies, raw)


def _decoded(decoder: msgspec.json.Decoder[T], raw: bytes) -> T:
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as broken:
        raise RowUnreadable(f"a stored row cannot be read: {broken}") from broken
