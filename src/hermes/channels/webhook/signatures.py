"""Remember recent signatures (replay protection): one signature may carry only one delivery id.

The delivery id is not signed. Signatures are written to a file before their event is accepted, so a
restart does not make an old one new.
"""

import asyncio
import errno
import logging
import os
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from hermes.channels.webhook.translate import WINDOW_S, Signed
from hermes.core.errors import StoreFailed
from hermes.views.files import unwritable, whole_file

REMEMBERED_S = 2 * WINDOW_S  # a timestamp ahead of our clock stays valid that long
SIGNATURES_MAX = 10_000
LINES_MAX = 2 * SIGNATURES_MAX  # then the file is written anew
LINE_BYTES_MAX = 400

log = logging.getLogger("hermes.channels.webhook")


class SeenDelivery(Struct, frozen=True):
    delivery: str
    at: float


class Signatures:
    """Remembers dated signatures until they are too old to be valid."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: OrderedDict[str, SeenDelivery] = OrderedDict()
        self._lines = -1  # of the file; it has not been read yet
        self._turn = asyncio.Lock()

    async def fits(self, signed: Signed, now: float) -> bool:
        """Return False if the same signature came before with another id (a replay). Raise
        StoreFailed when it cannot be remembered."""
        if not signed.dated:
            return True
        async with self._turn:
            if self._lines < 0:
                await asyncio.to_thread(self._read)
            self._forget(now)
            name = signed.signature.lower()
            seen = self._seen.get(name)
            if seen is None:
                seen = self._seen[name] = SeenDelivery(signed.delivery, now)
                try:
                    await asyncio.to_thread(self._write, name, seen)
                except StoreFailed:
                    del self._seen[name]
                    raise
        return seen.delivery == signed.delivery

    def _forget(self, now: float) -> None:
        while self._seen:
            oldest = next(iter(self._seen.values()))
            if len(self._seen) < SIGNATURES_MAX and abs(now - oldest.at) <= REMEMBERED_S:
                break
            self._seen.popitem(last=False)

    def _read(self) -> None:
        try:
            with self._file.open("rb") as file:
                raw = file.read(LINES_MAX * LINE_BYTES_MAX)
        except FileNotFoundError:
            raw = b""
        except OSError as refused:
            raise StoreFailed(f"{self._file} cannot be read: {refused}") from refused
        lines = raw.decode("utf-8", "replace").splitlines()
        self._seen.update(_parsed(lines))
        cut = bool(raw) and not raw.endswith(b"\n")
        self._lines = LINES_MAX if cut else len(lines)

    def _write(self, name: str, seen: SeenDelivery) -> None:
        if self._lines >= LINES_MAX:
            whole_file(self._file, "".join(map(_line, self._seen, self._seen.values())).encode())
            self._lines = len(self._seen)
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _append(self._file, _line(name, seen).encode())
        except OSError as refused:
            self._lines = LINES_MAX  # half of a line may be there
            raise unwritable(self._file, refused) from refused
        self._lines += 1


def _append(path: Path, line: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.write(file, line) < len(line):
            raise OSError(errno.ENOSPC, "the disk is full")
        os.fsync(file)
    finally:
        os.close(file)


def _line(name: str, seen: SeenDelivery) -> str:
    return f"{seen.at:.3f} {name} {seen.delivery}\n"


def _parsed(lines: list[str]) -> Iterator[tuple[str, SeenDelivery]]:
    """Parse the file. A line that a crash cut off is skipped: its event was never accepted."""
    for line in lines:
        try:
            at, name, delivery = line.split(" ")
            yield name, SeenDelivery(delivery, float(at))
        except ValueError:
            log.info("a line of remembered signatures is broken")
