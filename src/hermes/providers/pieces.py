"""Shared parts of both protocols for encoding a request: images, names and ids. Pure."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from hermes.core.messages import Line, Media
from hermes.text.quoting import name

IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
IMAGE_BYTES_MAX: Final = 5_000_000  # the smallest limit of the known providers
IMAGES_MAX: Final = 20  # the newest ones of a request; older ones are named only
TOOL_NAME_CHARS_MAX: Final = 64
NO_OUTPUT: Final = "(no output)"  # a blank result is refused by some

CallForm = Literal["native", "text"]

_NINE: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class Quirks(Struct, frozen=True, kw_only=True):
    """How a server differs from the protocol that it speaks."""

    output_key: str = "max_tokens"
    output_tokens_default: int | None = None  # where the protocol wants a number
    usage_option: bool = True  # `stream_options.include_usage`
    call_ids: Literal["ours", "nine"] = "ours"  # nine letters and digits, exactly
    reasoning_field: Literal["", "reasoning_content", "reasoning_details"] = ""
    reasoning_when: Literal["calls", "always"] = "calls"  # turns with calls, or every line
    reasoning_blank: bool = False  # a line with calls needs the field even when it is empty
    call_extras: bool = False  # each call carries `extra_content` that it wants back
    call_extra_blank: str = ""  # JSON: what it takes for a call of another model
    cache_marks: bool = False
    thinks_first: bool = False  # an answer begins with a thought, without an opening tag
    calls: CallForm = "native"  # text: the profile for small models
    grammar: bool = True  # with calls as text: `response_format` keeps the model to its form
    body: Mapping[str, object] = {}
    headers: Mapping[str, str] = {}


STANDARD: Final = Quirks()


class Image(Struct, frozen=True):
    media_type: str
    base64: str


class Gallery:
    """The images of one request, up to the limits."""

    def __init__(self, lines: Sequence[Line], blobs: Mapping[str, bytes]) -> None:
        newest: dict[str, None] = {}
        for line in reversed(lines):
            for media in reversed(line.media):
                if _problem(media, blobs) == "" and len(newest) < IMAGES_MAX:
                    newest[media.digest] = None
        self._shown = newest
        self._blobs = blobs

    def piece(self, media: Media) -> Image | str:
        """Return the image, or a short text in its place."""
        label = label_of(media)
        if problem := _problem(media, self._blobs):
            return f"[Attached: {label}; {problem}.]"
        if media.digest not in self._shown:
            return f"[Attached: {label}; not shown again, there are newer images.]"
        return Image(media.media_type, base64.b64encode(self._blobs[media.digest]).decode())


def label_of(media: Media) -> str:
    """Return the label of a file. Its sender chose the name, so it is quoted as untrusted text."""
    return f"{name(media.name) if media.name else 'a file'} ({media.media_type})"


def _problem(media: Media, blobs: Mapping[str, bytes]) -> str:
    if media.media_type not in IMAGE_TYPES:
        return "not an image that a model can see"
    if media.digest not in blobs:
        return "no longer stored"
    if len(blobs[media.digest]) > IMAGE_BYTES_MAX:
        return f"larger than {IMAGE_BYTES_MAX // 1_000_000} MB"
    return ""


def safe_name(tool: str) -> str:
    """Return a tool name that providers accept. A model may have called one that they would
    reject."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool)[:TOOL_NAME_CHARS_MAX] or "unnamed"


def nine_characters(call: str) -> str:
    """Return nine letters and digits, always the same for the same call."""
    number = int.from_bytes(hashlib.blake2b(call.encode(), digest_size=8).digest(), "big")
    letters = []
    for _ in range(9):
        number, digit = divmod(number, len(_NINE))
        letters.append(_NINE[digit])
    return "".join(letters)
