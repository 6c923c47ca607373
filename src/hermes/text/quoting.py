"""Make untrusted text safe to read: no invisible characters, and no end of its fence.

Pure.
"""

import json
from collections.abc import Sequence
from hashlib import sha256

from hermes.lazy import LazyPattern

MARK_CHARS = 8
NAME_CHARS_MAX = 300
ODD = "\N{REPLACEMENT CHARACTER}"

# Controls except tab and line feed; zero-width characters; bidirectional controls; letters
# without a shape; tags and variation selectors, which can hide whole texts; unpaired
# surrogates.
_UNSEEN = LazyPattern(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    r"\U000e0000-\U000e0fff\ud800-\udfff]"
)
_FENCED = LazyPattern(r"\bLines that begin with ([0-9a-f]{8}) are Hermes's\b")
_LINE_END = LazyPattern(r"\r\n?")
_EMOJI_STYLE = "\N{VARIATION SELECTOR-16}"  # asks for a colour emoji, and is common


def neutral(text: str) -> str:
    """Return the text with a visible sign in place of each invisible character."""
    return _UNSEEN.sub(ODD, _LINE_END.sub("\n", text).replace(_EMOJI_STYLE, ""))


def bared(text: str) -> tuple[str, int]:
    """Return the text without invisible characters, and how many were removed."""
    return _UNSEEN.subn("", _LINE_END.sub("\n", text).replace(_EMOJI_STYLE, ""))


def name(text: str) -> str:
    """Return an untrusted path or name in quotes, on one line, shortened."""
    shown = neutral(text).replace("\n", ODD).replace("\t", ODD)
    if len(shown) > NAME_CHARS_MAX:
        shown = f"…{shown[-NAME_CHARS_MAX + 1 :]}"
    return json.dumps(shown, ensure_ascii=False)


def unfenced(text: str) -> str:
    """Return fenced text without the fence lines of `mark_for`: these are for the model only."""
    found = _FENCED.search(text)
    if found is None:
        return text
    mark = f"{found[1]} "
    lines = (line for line in text.split("\n") if f"begin with {mark}" not in line)
    shown = (_without(mark, line) if line.startswith(mark) else line for line in lines)
    return "\n".join(line for line in shown if line is not None)


def _without(mark: str, line: str) -> str | None:
    bare = line.removeprefix(mark)
    return None if bare == "end" else bare.removeprefix("begin ").removeprefix("end ")


def mark_for(texts: Sequence[str]) -> str:
    """Return the prefix of our fence lines: deterministic, and absent from all these texts."""
    digest = sha256("\0".join(texts).encode("utf-8", "replace"))
    while True:
        mark = digest.hexdigest()[:MARK_CHARS]
        if not any(mark in text.lower() for text in texts):
            return mark
        digest.update(b"again")
