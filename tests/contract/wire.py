"""A wire between a store and its PostgreSQL that a test can cut at the worst moment."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

SOCKET = ".s.PGSQL.5432"
SETTLE_S = 0.3  # the server has long committed by then


class Wire:
    """Relays every connection. `cut_after_next` lets the next request through, and no answer."""

    def __init__(self, url: str, folder: Path) -> None:
        parts = urlsplit(url)
        self._server = Path(parse_qs(parts.query)["host"][0]) / SOCKET
        self._here = folder / SOCKET
        self._cutting = 0  # at the so many-th request from now
        self._links: set[asyncio.Task[None]] = set()
        self._sides: list[asyncio.StreamWriter] = []
        self.url = f"postgresql://{parts.netloc}{parts.path}?host={folder}"
        self.cuts = 0

    def cut_after_next(self) -> None:
        self._cutting = 1

    def cut_after(self, requests: int) -> None:
        """So many go through and are answered; the next one goes through, and no answer."""
        self._cutting = requests + 1

    @contextlib.asynccontextmanager
    async def up(self) -> AsyncIterator["Wire"]:
        server = await asyncio.start_unix_server(self._linked, self._here)
        try:
            yield self
        finally:
            server.close()
            for link in self._links:
                link.cancel()
            await asyncio.gather(*self._links, return_exceptions=True)
            for side in self._sides:
                side.close()
            await asyncio.gather(*(s.wait_closed() for s in self._sides), return_exceptions=True)

    def _linked(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._sides.append(back)
        self._links.add(asyncio.create_task(self._link(near, back)))

    async def _link(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, out = await asyncio.open_unix_connection(self._server)
        self._sides.append(out)
        answers = asyncio.create_task(_relay(far, back))
        questions = asyncio.create_task(self._ask(near, out, answers))
        try:
            await asyncio.wait({answers, questions}, return_when=asyncio.FIRST_COMPLETED)
            if answers.cancelled():
                await questions
        finally:
            for task in (answers, questions):
                task.cancel()
            await asyncio.gather(answers, questions, return_exceptions=True)
            out.close()
            back.close()

    async def _ask(
        self,
        near: asyncio.StreamReader,
        out: asyncio.StreamWriter,
        answers: "asyncio.Task[None]",
    ) -> None:
        while chunk := await near.read(1 << 20):
            cut, self._cutting = self._cutting == 1, max(self._cutting - 1, 0)
            if cut:
                self.cuts += 1
                answers.cancel()
            out.write(chunk)
            await out.drain()
            if cut:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SETTLE_S):
                        await _relay(near, out)
                return


async def _relay(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(1 << 20):
        target.write(chunk)
        await target.drain()
