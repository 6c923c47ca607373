"""The media store: files that came with messages."""

from typing import Protocol

from hermes.core.messages import Media


class MediaStore(Protocol):
    """Files that came with messages, by digest."""

    async def put(self, content: bytes, media_type: str, name: str) -> Media: ...

    async def get(self, media: Media) -> bytes | None: ...
