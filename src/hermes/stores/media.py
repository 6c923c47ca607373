"""Files that came with messages, each named by the digest of its bytes."""

import asyncio
import hashlib
from pathlib import Path

from hermes.core.errors import Rejected
from hermes.core.messages import Media
from hermes.views.files import whole_file

BYTES_MAX = 20_000_000


class FileMediaStore:
    """Store files in one folder. A file gets its name only when it is complete and flushed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, content: bytes, media_type: str, name: str) -> Media:
        if len(content) > BYTES_MAX:
            raise Rejected(f"{name} is larger than {BYTES_MAX // 1_000_000} MB")
        digest = hashlib.sha256(content).hexdigest()
        await asyncio.to_thread(self._write, digest, content)
        return Media(digest=digest, media_type=media_type, name=name)

    async def get(self, media: Media) -> bytes | None:
        if not media.digest.isalnum():
            return None
        return await asyncio.to_thread(self._read, media.digest)

    def _write(self, digest: str, content: bytes) -> None:
        target = self._folder / digest
        if not target.exists():
            whole_file(target, content)

    def _read(self, digest: str) -> bytes | None:
        try:
            return (self._folder / digest).read_bytes()
        except OSError:
            return None
