"""Names of the texts that a store keeps once, and which of them are known to be kept."""

from hashlib import sha256

from hermes.core.messages import sound

KNOWN_MAX = 10_000


class Known:
    """Digests of texts that are durable. When it is full it forgets, and asks the store again."""

    def __init__(self) -> None:
        self._digests: set[str] = set()

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    def add(self, digest: str) -> None:
        if len(self._digests) >= KNOWN_MAX:
            self._digests.clear()
        self._digests.add(digest)


def named(text: str) -> tuple[str, str]:
    """The digest, and the text as every store can keep it."""
    kept = sound(text)
    return sha256(kept.encode()).hexdigest(), kept
