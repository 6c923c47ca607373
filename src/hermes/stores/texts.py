"""Digests of texts that a store keeps once, a cache of those it has, and limits of cursors."""

from collections import OrderedDict
from hashlib import sha256

from hermes.core.errors import Rejected
from hermes.core.messages import sound

CHARS_MAX = 1_000_000
CURSOR_CHARS_MAX = 16_384


class KnownTexts:
    """A cache of the latest texts that are durable. For others the store is asked."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._chars = 0

    def __contains__(self, digest: str) -> bool:
        return digest in self._texts

    def get(self, digest: str) -> str | None:
        return self._texts.get(digest)

    def add(self, digest: str, text: str) -> None:
        self._chars += len(text) - len(self._texts.pop(digest, ""))
        self._texts[digest] = text
        while self._chars > CHARS_MAX and len(self._texts) > 1:
            self._chars -= len(self._texts.popitem(last=False)[1])


def named(text: str) -> tuple[str, str]:
    """Return the digest, and the text in a form that every store can keep."""
    kept = sound(text)
    return sha256(kept.encode()).hexdigest(), kept


def checked_position(platform: str, name: str, text: str) -> str:
    """Return a cursor's position as it is stored. Raise Rejected when it is too long."""
    if len(text) > CURSOR_CHARS_MAX:
        limit = f"{CURSOR_CHARS_MAX:,} characters"
        raise Rejected(f"the reading position {platform}/{name} is longer than {limit}")
    return sound(text)
