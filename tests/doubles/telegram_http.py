"""A minimal HTTP server that works with any client, and can break off on request."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from types import TracebackType
from urllib.parse import parse_qsl, unquote, urlsplit

HEAD_BYTES_MAX = 65_536


class Cut(Exception):
    """Close the connection without an answer."""


@dataclass(frozen=True)
class Upload:
    name: str
    content: bytes


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def form(self) -> tuple[dict[str, str], dict[str, Upload]]:
        """Return fields and files, for any encoding of the form."""
        kind = self.headers.get("content-type", "")
        if kind.startswith("multipart/form-data"):
            return _multipart(kind, self.body)
        if kind.startswith("application/json"):
            given = json.loads(self.body or b"{}")
            return {k: v if isinstance(v, str) else json.dumps(v) for k, v in given.items()}, {}
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True)), {}


@dataclass(frozen=True)
class Said:
    status: int
    body: bytes
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    missing: int = 0  # bytes announced but never sent; then the connection closes


@dataclass
class HttpServer:
    """Pass every request to one function."""

    answer: Callable[[Asked], Awaitable[Said]]
    port: int = 0
    connections: int = 0
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    async def __aenter__(self) -> "HttpServer":
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, limit=HEAD_BYTES_MAX
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (asked := await _read(reader)) is not None:
                said = await self._unless_gone(asked, reader)
                if said is None:
                    break
                writer.write(_bytes(said))
                await writer.drain()
                if said.missing:
                    break
        except (Cut, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # cancelled only at the end, where asyncio's own callback would raise
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _unless_gone(self, asked: Asked, reader: asyncio.StreamReader) -> Said | None:
        """Return the answer; None if the client hangs up before there is one."""
        answer = asyncio.ensure_future(self.answer(asked))
        hung_up = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({answer, hung_up}, return_when=asyncio.FIRST_COMPLETED)
            return answer.result() if answer.done() else None
        finally:
            for one in (answer, hung_up):
                one.cancel()
            await asyncio.gather(answer, hung_up, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    line, _, rest = head.decode("latin-1").partition("\r\n")
    method, target, _ = line.split(" ")
    pairs = (row.partition(":") for row in rest.split("\r\n") if row)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Asked(method, unquote(parts.path), dict(parse_qsl(parts.query)), headers, body)


def _bytes(said: Said) -> bytes:
    length = str(len(said.body) + said.missing)
    headers = {"Content-Type": said.kind, "Content-Length": length, **said.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
    return f"HTTP/1.1 {said.status} -\r\n{lines}\r\n".encode() + said.body


def _multipart(kind: str, body: bytes) -> tuple[dict[str, str], dict[str, Upload]]:
    whole = f"Content-Type: {kind}\r\n\r\n".encode() + body
    fields: dict[str, str] = {}
    files: dict[str, Upload] = {}
    for part in BytesParser(policy=HTTP).parsebytes(whole).iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        content = part.get_payload(decode=True) or b""
        if part.get_filename() is None:
            fields[name] = content.decode()
        else:
            files[name] = Upload(str(part.get_filename()), content)
    return fields, files
