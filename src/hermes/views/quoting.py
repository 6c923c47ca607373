"""Texts that others wrote, made harmless to read: nothing in them is invisible or ends its fence.

Pure.
"""

import json
from collections.abc import Sequence
from hashlib import sha256

from hermes.views.expressions import Expression

MARK_CHARS = 8
NAME_CHARS_MAX = 300
ODD = "\N{REPLACEMENT CHARACTER}"

# Controls but tab and line feed; what has no width; what turns the direction of writing; letters
# that show nothing; tags and variation selectors, in which whole texts can be hidden; half
# surrogates.
_UNSEEN = Expression(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    r"\U000e0000-\U000e0fff\ud800-\udfff]"
)
_LINE_END = Expression(r"\r\n?")
_EMOJI_STYLE = "\N{VARIATION SELECTOR-16}"  # asks for colour, and is common


def neutral(text: str) -> str:
    """The same text, with a visible sign in the place of everything that cannot be seen."""
    return _UNSEEN.sub(ODD, _LINE_END.sub("\n", text).replace(_EMOJI_STYLE, ""))


def bared(text: str) -> tuple[str, int]:
    """The text without what cannot be seen, and how many characters that were."""
    return _UNSEEN.subn("", _LINE_END.sub("\n", text).replace(_EMOJI_STYLE, ""))


def name(text: str) -> str:
    """A path or another name from outside, in quotes, on one line, not too long."""
    shown = neutral(text).replace("\n", ODD).replace("\t", ODD)
    if len(shown) > NAME_CHARS_MAX:
        shown = f"…{shown[-NAME_CHARS_MAX + 1 :]}"
    return json.dumps(shown, ensure_ascii=False)


def mark_for(texts: Sequence[str]) -> str:
    """The beginning of lines that are ours: the same for the same texts, and in none of them."""
    digest = sha256("\0".join(texts).encode("utf-8", "replace"))
    while True:
        mark = digest.hexdigest()[:MARK_CHARS]
        if not any(mark in text.lower() for text in texts):
            return mark
        digest.update(b"again")
