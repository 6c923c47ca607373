"""Make invisible and deceptive characters visible, for a person who decides by the text."""

import unicodedata

from hermes.lazy import LazyPattern

# Characters that are invisible, change the writing direction, or imitate a space.
DECEPTIVE = LazyPattern(
    r"[\x00-\x08\x0b-\x1f\x7f-\xa0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f"
    r"\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000110bd\U000110cd\U00013430-\U0001345f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_CONTROLS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# Bidirectional controls; invisible themselves.
_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
PLAIN_ASCII = bytes(range(0x20, 0x7F)) + b"\t\n"


def visible(text: str) -> str:
    """Replace control characters by their pictures, so that they cannot control a terminal."""
    return text.replace("\r\n", "\n").translate(_CONTROLS)


def visible_lines(text: str) -> str:
    """Make the text visible, without bidirectional reordering."""
    return visible(text).translate(_TURNS)


def is_deceptive(text: str) -> bool:
    if text.isascii():
        return bool(text.encode().translate(None, PLAIN_ASCII))
    return DECEPTIVE.search(text) is not None


def visible_text(text: str) -> str:
    """Spell out invisible and deceptive characters; line breaks stay."""
    return "".join(
        char if char == "\n" or (char.isprintable() and not is_deceptive(char)) else _spelled(char)
        for char in text
    )


def both_ends(text: str, head: int, tail: int) -> str:
    """Return the whole text, or both ends and how many characters are left out between them."""
    if len(text) <= head + tail:
        return visible_text(text)
    gap = f"[… {len(text) - head - tail:,} characters are not shown …]"
    return f"{visible_text(text[:head])}\n{gap}\n{visible_text(text[-tail:])}"


def _spelled(char: str) -> str:
    code = ord(char)
    if code < 0x80:
        return char.encode("unicode_escape").decode()
    return f"⟨U+{code:04X} {unicodedata.name(char, 'NO NAME')}⟩"
