"""The forms in which a secret turns up: as it is, escaped, in a URL, in hex, in base64.

Inside a longer base64 text the same bytes look different by where they begin, so all three
alignments are made, each cut to the characters that depend on nothing around it.
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

CHARS_MIN = 6  # shorter ones would black out ordinary words
WORD_CHARS_MIN = 8  # so would a short one of letters alone
LINE_CHARS_MIN = 16  # of a secret with several lines (a private key), each such line is one, too
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;"))
_PERCENT = re.compile("%[0-9A-F]{2}")


def is_hidable(value: str) -> bool:
    """Long enough that hiding it everywhere hides nothing else."""
    return len(value) >= (WORD_CHARS_MIN if value.isalpha() else CHARS_MIN)


def variants(value: str) -> frozenset[str]:
    """All forms of one secret; none of a value that is too short to be hidden."""
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


def _forms(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield _in_markup(value)
    for quoted in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield quoted
        yield _PERCENT.sub(lambda found: found[0].lower(), quoted)
    raw = value.encode("utf-8", "replace")
    yield repr(raw)[2:-1]
    yield raw.hex()
    yield raw.hex().upper()
    for shift in range(3):
        plain = b64encode(bytes(shift) + raw), urlsafe_b64encode(bytes(shift) + raw)
        first, last = (shift * 8 + 5) // 6, (shift + len(raw)) * 8 // 6
        yield from (text[first:last].decode() for text in plain)
