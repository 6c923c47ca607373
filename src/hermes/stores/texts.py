"""Names of the texts that a store keeps once, and which of them are known to be kept."""

from collections import OrderedDict
from hashlib import sha256

from hermes.core.messages import sound

CHARS_MAX = 1_000_000


class Known:
    """Texts that are durable, the latest ones. What it has forgotten the store is asked for."""

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
    """The digest, and the text as every store can keep it."""
    kept = sound(text)
    return sha256(kept.encode()).hexdigest(), kept
