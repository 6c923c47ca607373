"""Encode forms with files in them (multipart/form-data, RFC 7578). Pure."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from hermes.wire.faults import Unsendable

BOUNDARY: Final = re.compile(r"[0-9A-Za-z_-]{8,70}")
MEDIA_TYPE: Final = re.compile(r"[\x20-\x7e]{1,200}")


class FormPart(Struct, frozen=True, kw_only=True):
    """One field of a form. A field with a file name is a file."""

    name: str
    content: bytes
    filename: str = ""
    media_type: str = ""


def multipart(parts: Sequence[FormPart], *, boundary: str) -> tuple[str, tuple[bytes, ...]]:
    """Return the content-type header and the body in pieces. `boundary` must be random, so that no
    content can end its own part. Contents are not copied."""
    if not BOUNDARY.fullmatch(boundary):
        raise Unsendable("a boundary must be 8 to 70 letters, digits, - or _")
    pieces: list[bytes] = []
    for part in parts:
        lines = [f"--{boundary}", f'content-disposition: form-data; name="{_quoted(part.name)}"']
        if part.filename:
            lines[-1] += f'; filename="{_quoted(part.filename)}"'
        if part.media_type:
            if not MEDIA_TYPE.fullmatch(part.media_type):
                raise Unsendable(f"“{ascii(part.media_type)[1:-1]}” is not a media type")
            lines.append(f"content-type: {part.media_type}")
        pieces += ["\r\n".join((*lines, "", "")).encode(), part.content, b"\r\n"]
    pieces.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", tuple(pieces)


def _quoted(name: str) -> str:
    """Quote a name as browsers do. A line break or a quote in it would begin another header."""
    sound = name.encode("utf-8", "replace").decode("utf-8")
    return sound.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A").replace("\0", "")
