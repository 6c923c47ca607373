"""Where weights come from: a file of this machine, or a server that has them at a URL.

A place yields the bytes from a position on. It may fail, stop or lie: whoever fetches goes on at
the next place, and the digest of the whole file decides.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urljoin, urlsplit

from hermes.core.errors import HermesError
from hermes.providers.weights.catalogue import Weights
from hermes.views.files import reason
from hermes.wire.body import Limited
from hermes.wire.faults import HttpFailed, Stuck
from hermes.wire.http import Client
from hermes.wire.response import Response
from hermes.wire.route import is_loopback, proxies_to

CHUNK: Final = 1 << 20
CONNECT_S: Final = 8.0
SILENCE_S: Final = 30.0
REDIRECTS_MAX: Final = 5
OK, PARTIAL = 200, 206


class PlaceFailed(HermesError):
    """This place does not have the bytes, or not all of them; another one may."""


class FetchPlace(Protocol):
    """One place that may have the bytes. `needs`: disk space that it takes beside the file."""

    name: str
    needs: int

    def pieces(self, start: int) -> AsyncIterator[bytes]:
        """Yield the bytes from `start` on. Raise PlaceFailed."""
        ...


class FilePlace:
    """A file of this machine: one that the person names, or one that another program keeps."""

    needs = 0

    def __init__(self, file: Path, weights: Weights) -> None:
        self.name = str(file)
        self._file = file
        self._weights = weights

    async def pieces(self, start: int) -> AsyncIterator[bytes]:
        try:
            with self._file.open("rb") as opened:
                size = opened.seek(0, 2)
                if size != self._weights.bytes:
                    raise PlaceFailed(
                        f"it has {size:,} bytes, and {self._weights.title} has "
                        f"{self._weights.bytes:,}"
                    )
                opened.seek(start)
                while piece := opened.read(CHUNK):
                    yield piece
        except OSError as refused:
            raise PlaceFailed(reason(refused)) from refused


class UrlPlace:
    """A server that has the whole file at a URL: its publisher, or a mirror."""

    needs = 0

    def __init__(self, url: str, weights: Weights) -> None:
        self.name = urlsplit(url).netloc.rpartition("@")[2]
        self._url = url
        self._weights = weights

    async def pieces(self, start: int) -> AsyncIterator[bytes]:
        url = self._url
        try:
            for _hop in range(REDIRECTS_MAX + 1):
                async with _answer(url, start) as response:
                    if 300 <= response.status < 400:
                        url = _next(url, response)
                        continue
                    skip = self._skipped(response, start)
                    async for piece in Limited(response, self._weights.bytes, SILENCE_S):
                        if len(piece) > skip:
                            yield piece[skip:]
                        skip = max(0, skip - len(piece))
                    return
        except HttpFailed as failed:
            raise PlaceFailed(str(failed)) from failed
        raise PlaceFailed("it redirects too often")

    def _skipped(self, response: Response, start: int) -> int:
        """Return how many bytes come before `start`. Raise PlaceFailed for another file."""
        size = _size(response)
        if response.status not in (OK, PARTIAL):
            raise PlaceFailed(f"it answers with HTTP status {response.status}")
        if size is not None and size != self._weights.bytes:
            raise PlaceFailed(f"what it has is another file ({size:,} bytes)")
        return start if response.status == OK else 0


@contextlib.asynccontextmanager
async def _answer(url: str, start: int) -> AsyncIterator[Response]:
    """Ask for the bytes from `start` on. Raise HttpFailed."""
    client = Client(
        url,
        {"user-agent": "hermes"},
        proxies=proxies_to(url),
        connect_s=CONNECT_S,
        write_s=SILENCE_S,
    )
    wanted = {"range": f"bytes={start}-"} if start else None
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(client.close)
        try:
            async with asyncio.timeout(SILENCE_S):
                asked = client.exchange("GET", "", headers=wanted)
                response = await stack.enter_async_context(asked)
        except TimeoutError as late:
            raise Stuck(f"no answer within {SILENCE_S:g} s") from late
        yield response


def _next(url: str, response: Response) -> str:
    """Return where a redirect leads: never from https to http, and never to this machine."""
    target = urljoin(url, response.headers.get("location", ""))
    if target == url or (url.startswith("https:") and not target.startswith("https:")):
        raise PlaceFailed("it redirects to a place that is not protected")
    if is_loopback(target) and not is_loopback(url):
        raise PlaceFailed("it redirects to this computer")
    return target


def _size(response: Response) -> int | None:
    """Return the size of the whole file, as the server says it."""
    total = response.headers.get("content-range", "").rpartition("/")[2]
    if response.status != PARTIAL:
        total = response.headers.get("content-length", "")
    return int(total[:20]) if total.isdecimal() else None
