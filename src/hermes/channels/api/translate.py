"""From a request to an Inbound. Pure: pictures are decoded here and stored elsewhere."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from hermes.channels.api.manifest import PLATFORM, lane_of
from hermes.channels.api.refusals import Unserved, wrong
from hermes.channels.api.shapes import (
    ChatMessage,
    CompletionRequest,
    Function,
    ImagePart,
    RefusalPart,
    TextPart,
)
from hermes.core.ids import MessageId
from hermes.core.messages import Address, Inbound, Line, Media, Person, sound

NAME_CHARS_MAX: Final = 255
MESSAGES_MAX: Final = 4_000
PICTURES_MAX: Final = 20
PICTURE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
CALL_CHARS_MAX: Final = 2_000  # of what is told about a call that the client made
CARRIED: Final = "carried"  # the line is the client's word
SENDER: Final = Person(id=PLATFORM)

# Patterns stay texts until one is needed: a start compiles none of them.
_DATA_URL: Final = r"(?ai)data:([\w.+-]+/[\w.+-]+);base64,"
_VISIBLE: Final = r"[!-~]([ -~]{0,253}[!-~])?"
_asked = msgspec.json.Decoder(CompletionRequest)


class Picture(Struct, frozen=True):
    content: bytes
    media_type: str


class Ticket(Struct, frozen=True, kw_only=True):
    """What the headers say: which session, and which message."""

    name: str
    carried: bool  # the request carries the whole conversation; the lane is its own
    id: MessageId
    keyed: bool  # the client chose the id, so it can ask again


def asked(body: bytes) -> CompletionRequest:
    """Read a request. Raise Unserved for anything else, and for options that would silently be
    ignored."""
    try:
        request = _asked.decode(body)
    except msgspec.ValidationError as error:
        raise wrong(f"The request is not valid: {error}.", "invalid_request") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise wrong(f"The body is not valid JSON: {error}.", "invalid_json") from error
    if not 0 < len(request.messages) <= MESSAGES_MAX:
        raise wrong(f"messages: send 1 to {MESSAGES_MAX:,} of them.", "invalid_request")
    if problem := _unsupported(request):
        raise wrong(problem, "unsupported_parameter")
    return request


def ticket(session: str | None, idempotency_key: str | None, new_id: Callable[[], str]) -> Ticket:
    for header, value in (("X-Hermes-Session-Id", session), ("Idempotency-Key", idempotency_key)):
        if value is not None and not re.fullmatch(_VISIBLE, value):
            rule = f"has 1 to {NAME_CHARS_MAX} visible ASCII characters"
            raise wrong(f"{header} {rule}.", "invalid_header")
    return Ticket(
        name=new_id() if session is None else session,
        carried=session is None,
        id=MessageId(new_id() if idempotency_key is None else idempotency_key),
        keyed=idempotency_key is not None,
    )


def pictures(request: CompletionRequest, ticket: Ticket) -> Mapping[str, Picture]:
    """Return the pictures that the request needs, by URL."""
    taken = request.messages if ticket.carried else (_last_said(request),)
    urls = {part.image_url.url for message in taken for part in _images(message)}
    if len(urls) > PICTURES_MAX:
        raise wrong(f"A request may carry up to {PICTURES_MAX} images.", "too_many_images")
    return {url: _picture(url) for url in urls}


def inbound(
    request: CompletionRequest, ticket: Ticket, media: Mapping[str, Media], *, at: float
) -> Inbound:
    said = _last_said(request)
    before: tuple[Line, ...] = ()
    instructions = ""
    if ticket.carried:
        if request.messages[-1] is not said:
            raise wrong("The last message must be the user's.", "invalid_request")
        before = tuple(_lines(request.messages[:-1], media, at))
        ours = (m for m in request.messages if m.role in ("system", "developer"))
        instructions = "\n\n".join(text for text in map(_text, ours) if text.strip())
    return Inbound(
        id=ticket.id,
        account=PLATFORM,
        session=lane_of(ticket.name),
        sender=SENDER,
        address=Address(platform=PLATFORM, chat=ticket.name),
        text=_text(said),
        at=at,
        media=_media(said, media),
        before=before,
        instructions=instructions,
    )


def _unsupported(request: CompletionRequest) -> str:
    """Return the option that is asked for and not supported, so that it is refused openly."""
    if request.n is not None and request.n != 1:
        return "n: there is one answer to a message; leave it out."
    if request.tools or request.functions:
        return "tools: Hermes uses its own tools and calls none of the client's; leave them out."
    if request.response_format is not None and request.response_format.type != "text":
        return "response_format: answers are text; ask for JSON in the message instead."
    if any(kind != "text" for kind in request.modalities or ()):
        return "modalities: answers are text."
    if request.logprobs:
        return "logprobs: they are not known here."
    if request.stop:
        return "stop: an answer is stored as the model gave it and is not cut; leave it out."
    return ""


def _last_said(request: CompletionRequest) -> ChatMessage:
    for message in reversed(request.messages):
        if message.role == "user":
            return message
    raise wrong("messages: there is no user message.", "invalid_request")


def _lines(
    messages: tuple[ChatMessage, ...], media: Mapping[str, Media], at: float
) -> Iterator[Line]:
    """Return the conversation as the client sent it. It is not a record of ours: no call in it was
    made here, so none becomes a call of the transcript. Results of tools in it are the client's
    words, and labelled."""
    calls: dict[str, Function] = {}
    for message in messages:
        text = _text(message)
        match message.role:
            case "user":
                files = _media(message, media)
                yield Line(
                    role="user", text=text, at=at, sender=SENDER.id, media=files, labels=(CARRIED,)
                )
            case "assistant":
                calls |= {call.id: call.function for call in message.tool_calls or ()}
                if text:
                    yield Line(role="assistant", text=text, at=at, labels=(CARRIED,))
            case "tool":
                name = message.tool_call_id or ""
                if name not in calls:
                    raise wrong(f"messages: no call has the id “{name[:80]}”.", "invalid_request")
                told = _told(calls[name], text)
                labels = (CARRIED, "untrusted")
                yield Line(role="user", text=told, at=at, sender=SENDER.id, labels=labels)
            case _:
                continue


def _told(call: Function, answer: str) -> str:
    """Return the client's words in a sentence of ours, so that the model tells them apart."""
    asked = sound(f"{call.name} {call.arguments}")[:CALL_CHARS_MAX]
    return f"[Told by the client, not run here: its tool answered {asked}]\n{answer}"


def _text(message: ChatMessage) -> str:
    content = message.content
    if content is None or isinstance(content, str):
        return sound(content or "")
    texts: list[str] = []
    for part in content:
        match part:
            case TextPart(text=text) | RefusalPart(refusal=text):
                texts.append(text)
            case ImagePart():
                continue
    return sound("\n".join(texts))


def _images(message: ChatMessage) -> Iterator[ImagePart]:
    content = message.content
    if content is None or isinstance(content, str):
        return
    for part in content:
        if isinstance(part, ImagePart):
            if message.role != "user":
                raise wrong("messages: only the user's may have images.", "invalid_request")
            yield part


def _media(message: ChatMessage, media: Mapping[str, Media]) -> tuple[Media, ...]:
    return tuple(media[part.image_url.url] for part in _images(message))


def _picture(url: str) -> Picture:
    found = re.match(_DATA_URL, url)
    if found is None:
        raise wrong(_NOT_FETCHED, "invalid_image_url")
    media_type = found.group(1).lower()
    if media_type not in PICTURE_TYPES:
        raise wrong(f"{media_type} is not one of {', '.join(PICTURE_TYPES)}.", "invalid_image_url")
    try:
        content = base64.b64decode(url[found.end() :], validate=True)
    except (binascii.Error, ValueError) as error:
        raise _broken(error) from error
    return Picture(content, media_type)


_NOT_FETCHED: Final = (
    "Images are taken as data URLs (data:image/png;base64,…) only: nothing is fetched from "
    "elsewhere on a client's word."
)


def _broken(error: Exception) -> Unserved:
    return wrong(f"An image is not valid base64: {error}.", "invalid_image_url")
