"""Where the tests of the server meet: a site that obeys, and a client that writes bytes."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator

from msgspec import Struct

from hermes.httpd.connection import ConnectionTimeouts
from hermes.httpd.request import HttpRequest, Left, TooLarge, TooSlow
from hermes.httpd.response import HttpResponse, Lines
from hermes.httpd.routes import HttpRoute
from hermes.httpd.server import Terms, serving
from hermes.httpd.site import PlainSite

WAIT_S = 60.0
HOST = b"Host: localhost\r\n"
QUICK = ConnectionTimeouts(keep_alive_s=0.3, head_s=0.3, linger_s=0.3, stuck_s=0.3)
SLOW = ConnectionTimeouts(keep_alive_s=60.0)
TYPE = "text/plain"


class House(PlainSite):
    """`/echo` says what it was told, `/stream` goes on until `go` is set, `/wait` waits for it."""

    def __init__(self) -> None:
        super().__init__(
            [
                HttpRoute("/", self._here),
                HttpRoute("/echo", self._echo, ["POST"]),
                HttpRoute("/refuse", self._refuse, ["POST"]),
                HttpRoute("/large/{size}", self._large),
                HttpRoute("/stream", self._stream),
                HttpRoute("/flood", self._flood),
                HttpRoute("/wait", self._wait),
                HttpRoute("/break", self._break),
                HttpRoute("/break/late", self._break_late),
                HttpRoute("/ids/{id:path}/end", self._ids),
            ]
        )
        self.go = asyncio.Event()
        self.begun: asyncio.Queue[HttpRequest] = asyncio.Queue()
        self.seen: list[str] = []
        self.put = 0

    def mark(self, request: HttpRequest, status: int) -> Lines:
        self.seen.append(f"{request.head.method} {request.head.path} {status}")
        return ()

    async def _here(self, _request: HttpRequest) -> HttpResponse:
        return HttpResponse(b"here", type=TYPE)

    async def _echo(self, request: HttpRequest) -> HttpResponse | None:
        self.begun.put_nowait(request)
        try:
            return HttpResponse(await request.body(100_000, within_s=0.5, discarded=1_000_000))
        except TooLarge:
            return HttpResponse(b"too large", 413, {"connection": "close"})
        except TooSlow:
            return HttpResponse(b"too slow", 408, {"connection": "close"})
        except Left:
            self.seen.append("left")
            return None

    async def _refuse(self, _request: HttpRequest) -> HttpResponse:
        return HttpResponse(b"no", 403)

    async def _large(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(b"x" * int(request.ids["size"]))

    async def _stream(self, request: HttpRequest) -> None:
        self.begun.put_nowait(request)
        pipe = request.open({"content-type": TYPE})
        await pipe.put(b"one,")
        await self.go.wait()
        pipe.close(b"two")

    async def _flood(self, request: HttpRequest) -> None:
        self.begun.put_nowait(request)
        pipe = request.open({})
        while not request.gone:
            self.put += 1
            await pipe.put(b"x" * 10_000)
            await asyncio.sleep(0)

    async def _wait(self, request: HttpRequest) -> HttpResponse:
        self.begun.put_nowait(request)
        await self.go.wait()
        return HttpResponse(b"went")

    async def _break(self, _request: HttpRequest) -> HttpResponse:
        raise RuntimeError("a fault of ours")

    async def _break_late(self, request: HttpRequest) -> HttpResponse:
        await request.open({}).put(b"begun")
        raise RuntimeError("a fault of ours")

    async def _ids(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(request.ids["id"].encode())


class Served(Struct, frozen=True):
    house: House
    port: int

    async def dial(self) -> "Wire":
        return Wire(*await asyncio.open_connection("127.0.0.1", self.port))

    async def sent(self, raw: bytes) -> bytes:
        """Write it, and read until the other side closes."""
        wire = await self.dial()
        try:
            wire.write(raw)
            return await wire.rest()
        finally:
            wire.close()


class Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.write = writer.write
        self.close = writer.close

    async def until(self, mark: bytes) -> bytes:
        return await asyncio.wait_for(self.reader.readuntil(mark), WAIT_S)

    async def rest(self) -> bytes:
        found = b""
        with contextlib.suppress(ConnectionResetError):
            async with asyncio.timeout(WAIT_S):
                while piece := await self.reader.read(65_536):
                    found += piece
        return found


@contextlib.asynccontextmanager
async def served(
    patience: ConnectionTimeouts = SLOW,
    *,
    connections_max: int = 1_000,
    grace_s: float = 0.5,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Served]:
    house, listener = House(), socket.create_server(("127.0.0.1", 0))
    terms = Terms(connections_max=connections_max, backlog=100, patience=patience, grace_s=grace_s)
    async with serving(house, [listener], terms, tls):
        yield Served(house, int(listener.getsockname()[1]))


def get(path: str = "/", more: bytes = b"", *, version: bytes = b"1.1") -> bytes:
    return b"GET %b HTTP/%b\r\n%b%b\r\n" % (path.encode(), version, HOST, more)


def post(path: str = "/echo", more: bytes = b"", body: bytes = b"") -> bytes:
    return b"POST %b HTTP/1.1\r\n%b%b\r\n%b" % (path.encode(), HOST, more, body)


CLOSE = b"Connection: close\r\n"


def statuses(raw: bytes) -> list[int]:
    return [int(part[:3]) for part in raw.split(b"HTTP/1.1 ")[1:]]
