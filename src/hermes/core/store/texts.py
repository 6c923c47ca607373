"""The texts: long texts that many sessions share."""

from typing import Protocol


class TextStore(Protocol):
    """Long texts that many sessions share (system prompts), each kept once, by its digest."""

    async def keep(self, text: str) -> str:
        """Durable when it returns the digest: SHA-256 of the UTF-8 bytes, in hex."""

    async def text(self, digest: str) -> str | None: ...
