"""Files that came with messages, each under the digest of its bytes."""

import asyncio
import hashlib
import os
from pathlib import Path

from hermes.core.errors import Rejected, StoreFailed
from hermes.core.messages import Media

BYTES_MAX = 20_000_000


class FileShelf:
    """One folder. A file stands under its name only when it is whole and flushed."""

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
        half = self._folder / f".{digest}.{os.getpid()}.half"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if target.exists():
                return
            handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(handle)
            half.replace(target)
        except OSError as error:
            raise StoreFailed(f"{target}: {error.strerror}") from error

    def _read(self, digest: str) -> bytes | None:
        try:
            return (self._folder / digest).read_bytes()
        except OSError:
            return None
