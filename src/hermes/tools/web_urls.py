"""Could a URL carry something out? Pure.

A page's own links carry nothing that its author does not know already: those that were seen in
this conversation are remembered, by a digest. Of the others, what is short and made of words is a
place that one knows; whatever could be a message in a bottle is not.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final
from urllib.parse import unquote, urlsplit

FACT: Final = "web_links"  # of the session
SEEN_MAX: Final = 500
DIGEST_CHARS: Final = 11
PATH_CHARS_MAX: Final = 80
PARTS_MAX: Final = 6
PART_CHARS_MAX: Final = 40
HOST_CHARS_MAX: Final = 60
LABELS_MAX: Final = 5
WORD_CHARS_MAX: Final = 24
DIGITS_MAX: Final = 10
_WORDS: Final = re.compile(r"[-_.~+,:;@!'()*$&=\s]+")
_MIXED: Final = re.compile(r"(?=.*[0-9])(?=.*[a-zA-Z]).{12,}|(?=.*[a-z][A-Z])(?=.*[0-9]).{8,}")


def carries_data(url: str) -> bool:
    """A fragment is never sent. What cannot be taken apart may carry anything."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").strip(".")
    except ValueError:
        return True
    path = unquote(parts.path).strip("/")
    segments, labels = path.split("/"), host.split(".")
    if parts.query or "?" in url.partition("#")[0] or "\ufffd" in path:
        return True
    if len(path) > PATH_CHARS_MAX or len(segments) > PARTS_MAX:
        return True
    if len(host) > HOST_CHARS_MAX or len(labels) > LABELS_MAX:
        return True
    return any(map(_is_odd, (*segments, *labels)))


def seen_in(facts: Mapping[str, str], url: str) -> bool:
    return _digest(url) in facts.get(FACT, "").split()


def noted(facts: Mapping[str, str], links: Sequence[str]) -> str:
    """The fact with these links too; the oldest ones go."""
    known = dict.fromkeys(map(_digest, links))
    known |= dict.fromkeys(facts.get(FACT, "").split())
    return " ".join(list(known)[:SEEN_MAX])


def _is_odd(segment: str) -> bool:
    words = [word for word in _WORDS.split(segment) if word]
    return len(segment) > PART_CHARS_MAX or any(
        len(word) > WORD_CHARS_MAX
        or sum(letter.isdigit() for letter in word) > DIGITS_MAX
        or _MIXED.fullmatch(word) is not None
        for word in words
    )


def _digest(url: str) -> str:
    plain = url.partition("#")[0].encode("utf-8", "replace")
    return base64.urlsafe_b64encode(sha256(plain).digest())[:DIGEST_CHARS].decode("ascii")
