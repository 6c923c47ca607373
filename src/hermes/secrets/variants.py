"""List the encodings of a secret: plain, reversed, escaped, URL, hex, base32, base64.

Inside a longer base64 text the encoding depends on the offset, so all three alignments are listed,
each cut to the characters that depend on the secret alone.
"""

import json
import re
from base64 import b32encode, b64encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

CHARS_MIN = 6  # redacting shorter ones would hide ordinary words
WORD_CHARS_MIN = 8  # likewise for letters only
LINE_CHARS_MIN = 16  # each line this long of a multi-line secret (a private key) is a secret, too
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;"))
_PERCENT = re.compile("%[0-9A-F]{2}")


def is_hidable(value: str) -> bool:
    """Return True if the value is long enough to be redacted without hiding ordinary words."""
    return len(value) >= (WORD_CHARS_MIN if value.isalpha() else CHARS_MIN)


def variants(value: str) -> frozenset[str]:
    """Return all forms of a secret; none if the value is too short to redact."""
    if not is_hidable(value):
        return frozenset()
    found = {form for part in _parts(value) for form in _forms(part)}
    return frozenset(form for form in found if len(form) >= CHARS_MIN)


def _parts(value: str) -> Iterator[str]:
    yield value
    lines = value.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= LINE_CHARS_MIN and "-----" not in line)


def _in_markup(value: str) -> str:
    for sign, name in _ENTITIES:
        value = value.replace(sign, name)
    return value


def joined_forms(value: str) -> Iterator[str]:
    """Yield the encodings in which letters stand for bytes: hex and base64."""
    raw = value.encode("utf-8", "replace")
    yield raw.hex()
    yield raw.hex().upper()
    for shift in range(3):
        plain = b64encode(bytes(shift) + raw), urlsafe_b64encode(bytes(shift) + raw)
        first, last = (shift * 8 + 5) // 6, (shift + len(raw)) * 8 // 6
        yield from (text[first:last].decode() for text in plain)


def _forms(value: str) -> Iterator[str]:
    yield value
    yield value[::-1]
    yield "\0".join(value)  # UTF-16
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield _in_markup(value)
    for quoted in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield quoted
        yield _PERCENT.sub(lambda found: found[0].lower(), quoted)
    raw = value.encode("utf-8", "replace")
    yield repr(raw)[2:-1]
    yield "".join(f"%{byte:02X}" for byte in raw)
    yield "".join(f"%{byte:02x}" for byte in raw)
    yield "".join(f"\\x{byte:02x}" for byte in raw)
    for shift in range(5):
        yield b32encode(bytes(shift) + raw)[
            (shift * 8 + 4) // 5 : (shift + len(raw)) * 8 // 5
        ].decode()
    yield from joined_forms(value)
