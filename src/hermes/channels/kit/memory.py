"""Remember small texts across restarts: one file each, in a folder for each kind, bounded.

Descriptions of stickers, strangers who were answered, which messages have a sign.
"""

import asyncio
import contextlib
import hashlib
import os
from pathlib import Path

from hermes.core.errors import StoreFailed
from hermes.views.files import whole_file

FILES_MAX = 5_000  # of one kind; the oldest go
TEXT_BYTES_MAX = 16_000


class ChannelMemory:
    """Files are written atomically. What cannot be read is treated as forgotten."""

    def __init__(self, folder: Path, *, files_max: int = FILES_MAX) -> None:
        self._folder = folder
        self._files_max = files_max

    async def get(self, kind: str, name: str) -> str:
        """Return what was kept under this name; empty when there is nothing."""
        return await asyncio.to_thread(self._read, self._path(kind, name))

    async def put(self, kind: str, name: str, text: str) -> bool:
        """Keep a text. Return False if the disk refuses it."""
        return await asyncio.to_thread(self._write, self._path(kind, name), text)

    def _path(self, kind: str, name: str) -> Path:
        return (
            self._folder / kind / hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:40]
        )

    def _read(self, path: Path) -> str:
        try:
            return path.read_bytes()[:TEXT_BYTES_MAX].decode("utf-8", "ignore")
        except OSError:
            return ""

    def _write(self, path: Path, text: str) -> bool:
        try:
            whole_file(path, text.encode("utf-8", "replace")[:TEXT_BYTES_MAX])
            self._trim(path.parent)
        except (StoreFailed, OSError):
            return False
        return True

    def _trim(self, folder: Path) -> None:
        with os.scandir(folder) as entries:
            found = [(entry.stat().st_mtime, entry.path) for entry in entries]
        if len(found) > self._files_max:
            for _, old in sorted(found)[: len(found) - self._files_max]:
                with contextlib.suppress(OSError):
                    Path(old).unlink()
