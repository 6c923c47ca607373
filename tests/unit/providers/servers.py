"""A model server of a few lines on a real socket: it plays what a test wrote, byte for byte."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

HANG: Literal["hang"] = "hang"  # say nothing more, until the client goes away
DROP: Literal["drop"] = "drop"  # close the connection here

Play = Sequence[bytes | float | Literal["hang", "drop"]]


@dataclass(frozen=True)
class Taken:
    """A request as it came in."""

    line: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """The nth request gets the nth play, and the last one from then on."""

    plays: Sequence[Play]
    tls: ssl.SSLContext | None = None
    host: str = "127.0.0.1"
    taken: list[Taken] = field(default_factory=list)
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> "Server":
        self._server = await asyncio.start_server(self._serve, self.host, 0, ssl=self.tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._tasks: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        name = "localhost" if self.tls is not None else self.host
        place = f"[{name}]" if ":" in name else name
        return f"http{'s' if self.tls is not None else ''}://{place}:{self.port}/v1"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._answer(reader, writer):
                    pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.taken.append(Taken(head[0], headers, body))
        self.asked.set()
        play = self.plays[min(len(self.taken), len(self.plays)) - 1]
        for step in play:
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            elif isinstance(step, float):
                await asyncio.sleep(step)
            elif step == HANG:
                assert await reader.read(1) == b""
                self.gone.set()
                return False
            else:
                return False
        return True


def head(status: int = 200, **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunk(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


def chunked(body: bytes) -> bytes:
    """A stream as nearly every server sends one: its end is marked."""
    start = head(content_type="text/event-stream", transfer_encoding="chunked")
    return start + chunk(body) + b"0\r\n\r\n"


def closing(body: bytes) -> bytes:
    """A stream whose end is the end of the connection; to be followed by DROP."""
    return head(content_type="text/event-stream", connection="close") + body


def plain(value: object, status: int = 200, **headers: str) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    sized = {"content_type": "application/json", "content_length": str(len(body)), **headers}
    return head(status, **sized) + body
