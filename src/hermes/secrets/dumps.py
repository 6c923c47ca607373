"""Find secrets in dumps and encodings: hex, octal, base32, base64 in groups and lines.

The text is searched without its blanks, line breaks, offsets and ASCII columns. A secret that these
had split is contiguous there, and each character's place in the original text is known.
"""

import re
from base64 import b32encode
from collections.abc import Iterator
from itertools import pairwise

from hermes.lazy import LazyPattern
from hermes.secrets.variants import CHARS_MIN, is_hidable, joined_forms

View = tuple[str, list[int]]  # a text, and the position of each character in the original
# Quick tests that most texts fail: groups of numbers, letters with gaps between them, two
# consecutive lines that are one long word each.
_GROUPS = LazyPattern(r"(?:\b[0-9A-Fa-f]{2,8}[ \t:]{1,4}){5}")
_LETTERS = LazyPattern(r"(?:[ \t]{2,4}\S){6}")
_LINES = LazyPattern(r"(?m)^[A-Za-z0-9%+/_=-]{4,200}\r?\n[A-Za-z0-9%+/_=-]{2,200}$")
_OFFSET = LazyPattern(r"(?m)^[ \t]*[0-9A-Fa-f]{6,16}:?[ \t]+")
_COLUMN = LazyPattern(r"(?m)[ \t]{2}([^\t\n]{1,32})$|[ \t]\|([^\n]{1,32})\|$")
WORD = 2  # bytes per word in the output of od and hexdump


def dump_forms(value: str) -> frozenset[str]:
    """Return the forms of a secret in a dump, with separators removed."""
    if not is_hidable(value):
        return frozenset()
    raw = value.encode("utf-8", "replace")
    found = {value, *joined_forms(value), *_base32(raw)}
    found.add("".join(f"{byte:03o}" for byte in raw))
    found.add("".join(map(str, raw)))
    found.add("".join(f"%{byte:02x}" for byte in raw))
    for start in range(WORD):  # words are aligned to the dump, not to the secret
        words = [(low, high) for low, high in pairwise(raw[start:])][::WORD]
        found.add("".join(f"{high:02x}{low:02x}" for low, high in words))
        found.add("".join(f"{low + 256 * high:06o}" for low, high in words))
        found.add("".join(f"{low + 256 * high:05d}" for low, high in words))
    return frozenset(form for form in found if len(form) >= CHARS_MIN and form.isascii())


def _base32(raw: bytes) -> Iterator[str]:
    for shift in range(5):
        text = b32encode(bytes(shift) + raw).decode()
        inner = text[(shift * 8 + 4) // 5 : (shift + len(raw)) * 8 // 5]
        yield inner
        yield inner.lower()


def views(text: str) -> Iterator[View]:
    """Yield the text without the separators of each dump format; nothing for ordinary text."""
    if not (_GROUPS.search(text) or _LETTERS.search(text) or _LINES.search(text)):
        return
    yield _kept(text, [])
    offsets = [found.span() for found in _OFFSET.finditer(text)]
    if offsets:
        columns = list(_COLUMN.finditer(text))
        yield _kept(text, [*offsets, *(found.span() for found in columns)])
        yield _kept(text, offsets)
        letters = [found.span(1 if found[1] is not None else 2) for found in columns]
        places = [place for start, stop in letters for place in range(start, stop)]
        yield "".join(text[place] for place in places), places


def _kept(text: str, left_out: list[tuple[int, int]]) -> View:
    gone = sorted(left_out)
    places: list[int] = []
    at = 0
    for start, stop in [*gone, (len(text), len(text))]:
        places += (n for n in range(at, start) if text[n].isascii() and not text[n].isspace())
        at = max(at, stop)
    return "".join(text[n] for n in places), places


def whole_pattern(forms: frozenset[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches any of the forms, longest first; None if there are none."""
    listed = sorted(forms, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, listed))) if listed else None
