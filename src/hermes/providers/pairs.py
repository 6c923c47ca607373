"""Join surrogate pairs: characters above U+FFFF, which JSON may write as two escapes. Pure.

Some servers split such a pair over two pieces of a stream. A half alone is not valid text and our
decoder refuses it, so a private-use character stands in for each half until the other one arrives.
"""

import json
import re
from typing import Final, TypeVar

import msgspec

from hermes.lazy import LazyPattern

T = TypeVar("T")

_SURROGATES: Final = 0xD800
_PRIVATE: Final = 0x10F000  # so many signs on from the first surrogate, on a plane nobody writes in
_LONE = LazyPattern("[\ud800-\udfff]")
_HALF = LazyPattern("[\U0010f000-\U0010f7ff]")
_FIRST_AT_END = LazyPattern("[\U0010f000-\U0010f3ff]\\Z")
_MISSING: Final = "\ufffd"


def decoded(decoder: "msgspec.json.Decoder[T]", data: bytes) -> T:
    """Decode JSON, with stand-ins for halves of pairs. Raise ValueError or RecursionError."""
    try:
        return decoder.decode(data)
    except (ValueError, RecursionError):
        if b"\\ud" not in data and b"\\uD" not in data:
            raise
        return decoder.decode(_with_stand_ins(data))


def _with_stand_ins(data: bytes) -> bytes:
    text = json.dumps(json.loads(data), ensure_ascii=False)
    return _LONE.sub(lambda half: _moved(half, _PRIVATE - _SURROGATES), text).encode()


def _moved(sign: re.Match[str], by: int) -> str:
    return chr(ord(sign[0]) + by)


def joined(text: str) -> str:
    """Join the halves in a text; a half without its partner becomes a replacement character."""
    if text.isascii() or _HALF.search(text) is None:
        return text
    halves = _HALF.sub(lambda half: _moved(half, _SURROGATES - _PRIVATE), text)
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class PairJoiner:
    """Join halves in a text that comes in pieces: a first half waits for its second."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        self._held = text[-1:] if _FIRST_AT_END.search(text, max(0, len(text) - 1)) else ""
        return joined(text[: len(text) - len(self._held)])

    def end(self) -> str:
        """Return what is left: a replacement character, or nothing."""
        held, self._held = self._held, ""
        return _MISSING if held else ""
