"""A WebSocket to servers that say goodbye, go silent, talk too much or are none: real sockets."""

import asyncio
import base64
import contextlib
import hashlib
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest
from websockets.asyncio.server import ServerConnection, serve

from hermes.wire.faults import (
    Broken,
    ConnectLate,
    HandshakeRefused,
    HttpFailed,
    SocketClosed,
    Unreachable,
    Unsendable,
)
from hermes.wire.websocket import ABNORMAL, UNHEARD, SocketLimits, WebSocket, websocket
from tests.unit.wire.proxies import PASS, Passing
from tests.unit.wire.raw import raw

LIMIT_S = 60.0
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of RFC 6455
Talk = Callable[[ServerConnection], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    async with (
        asyncio.timeout(LIMIT_S),
        serve(talk, "127.0.0.1", 0, ssl=tls, ping_interval=None, max_size=None) as server,
    ):
        yield next(iter(server.sockets)).getsockname()[1]


def opened(
    url: str, proxies: Mapping[str, str] | None = None, **limits: float | None
) -> contextlib.AbstractAsyncContextManager[WebSocket]:
    return websocket(url, {"x-key": "k"}, proxies=proxies or {}, limits=SocketLimits(**limits))


async def shake_hands(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    [key] = [line.split(": ")[1] for line in lines if line.lower().startswith("sec-websocket-key")]
    digest = hashlib.sha1(f"{key}{GUID}".encode(), usedforsecurity=False).digest()
    accepted = base64.b64encode(digest).decode()
    writer.write(b"HTTP/1.1 101 Go\r\nupgrade: websocket\r\nconnection: upgrade\r\n")
    writer.write(f"sec-websocket-accept: {accepted}\r\n\r\n".encode())


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def test_texts_and_bytes_go_both_ways_and_the_headers_are_carried() -> None:
    seen: list[str | None] = []

    async def talk(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.append(connection.request.headers.get("x-key"))
        seen.append(connection.request.path)
        await echo(connection)

    async with serving(talk) as port, opened(f"ws://127.0.0.1:{port}/gateway?v=10") as socket:
        for message in ("grüße ✓", b"\0\xff", "x" * 1_000_000):
            await socket.send(message)
            assert await socket.receive() == message
    assert seen == ["k", "/gateway?v=10"]


@pytest.mark.parametrize(
    ("code", "reason"), [(1000, ""), (4014, "Disallowed intent(s)."), (1012, "")]
)
async def test_the_servers_close_code_and_reason_are_told(code: int, reason: str) -> None:
    async def talk(connection: ServerConnection) -> None:
        await connection.send("last")
        await connection.close(code, reason)

    async with serving(talk) as port, opened(f"ws://127.0.0.1:{port}") as socket:
        assert await socket.receive() == "last"
        for _ in range(2):
            with pytest.raises(SocketClosed) as told:
                await socket.receive()
            assert (told.value.code, told.value.reason) == (code, reason)
        with pytest.raises(SocketClosed):
            await socket.send("too late")


async def test_a_message_that_is_too_large_closes_the_connection_and_is_not_kept() -> None:
    async def talk(connection: ServerConnection) -> None:
        await connection.send("x" * 1_000)
        await connection.send("x" * 1_001)
        await connection.wait_closed()

    limits = {"message_bytes": 1_000}
    async with serving(talk) as port, opened(f"ws://127.0.0.1:{port}", **limits) as socket:
        assert await socket.receive() == "x" * 1_000
        with pytest.raises(SocketClosed) as told:
            await socket.receive()
    assert told.value.code == 1009


async def test_a_half_open_connection_is_noticed_by_its_silence() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await shake_hands(reader, writer)

    limits = {"ping_s": 0.05, "pong_s": 0.2, "close_s": 0.2}
    async with raw(deaf) as port, opened(f"ws://127.0.0.1:{port}", **limits) as socket:
        with pytest.raises(SocketClosed) as told:
            await socket.receive()
    assert (told.value.code, told.value.reason) == (ABNORMAL, UNHEARD)
    assert told.value.in_doubt


async def test_a_connection_that_drops_without_a_word_is_1006() -> None:
    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await shake_hands(reader, writer)
        writer.write(b"\x81\x02hi\x81\x7f")  # one message, and the beginning of another
        writer.close()

    async with raw(drop) as port, opened(f"ws://127.0.0.1:{port}") as socket:
        assert await socket.receive() == "hi"
        with pytest.raises(SocketClosed) as told:
            await socket.receive()
    assert told.value.code == ABNORMAL


@pytest.mark.parametrize(
    ("frame", "code", "reason"),
    [
        (b"\xf1\x02hi", 1002, "reserved bits must be 0"),  # an extension that nobody agreed on
        (b"\x88\x05\x0f\xa0bye", 4000, "bye"),  # a goodbye
    ],
)
async def test_a_server_that_keeps_a_closed_connection_open_is_not_waited_for(
    frame: bytes, code: int, reason: str
) -> None:
    async def clinging(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await shake_hands(reader, writer)
        writer.write(frame)
        await asyncio.Event().wait()

    limits = {"close_s": 0.1, "ping_s": None}
    async with raw(clinging) as port, opened(f"ws://127.0.0.1:{port}", **limits) as socket:
        with pytest.raises(SocketClosed) as told:
            await socket.receive()
    assert (told.value.code, told.value.reason) == (code, reason)


@pytest.mark.parametrize(
    ("answer", "status", "header"),
    [
        (b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n", 401, ""),
        (b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\ncontent-length: 0\r\n\r\n", 429, "7"),
        (b"HTTP/1.1 302 Go\r\nlocation: ws://evil\r\ncontent-length: 0\r\n\r\n", 302, ""),
    ],
)
async def test_a_refused_handshake_tells_its_status_and_no_redirect_is_followed(
    answer: bytes, status: int, header: str
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with raw(refuse) as port:
        with pytest.raises(HandshakeRefused) as told:
            async with opened(f"ws://127.0.0.1:{port}"):
                pass
    assert told.value.status == status
    assert told.value.headers.get("retry-after", "") == header
    assert not told.value.in_doubt


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b""])
async def test_a_server_that_speaks_no_websocket_is_said_to(answer: bytes) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with raw(other) as port:
        with pytest.raises(Broken, match="speaks no WebSocket"):
            async with opened(f"ws://127.0.0.1:{port}"):
                pass


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with raw(silent) as port:
        with pytest.raises(ConnectLate, match=r"no WebSocket within 0\.2 s"):
            async with opened(f"ws://127.0.0.1:{port}", open_s=0.2):
                pass


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ws://127.0.0.1:9/", Unreachable),
        ("ftp://x/", Unsendable),
        ("ws://me:hunter2@127.0.0.1:9/", Unsendable),
        ("ws://127.0.0.1:9/#part", Unsendable),
    ],
)
async def test_what_cannot_be_connected_to_is_told_apart(url: str, kind: type[HttpFailed]) -> None:
    with pytest.raises(kind) as told:
        async with opened(url):
            pass
    assert "hunter2" not in str(told.value)
    assert not told.value.in_doubt


async def test_a_header_with_a_line_break_is_not_sent() -> None:
    with pytest.raises(Unsendable):
        async with websocket("ws://127.0.0.1:9/", {"x": "a\r\ny: b"}, proxies={}):
            pass


async def test_leaving_the_block_says_goodbye() -> None:
    codes: list[int | None] = []
    gone = asyncio.Event()

    async def talk(connection: ServerConnection) -> None:
        await connection.wait_closed()
        codes.append(connection.close_code)
        gone.set()

    async with serving(talk) as port:
        async with opened(f"ws://127.0.0.1:{port}"):
            pass
        await gone.wait()
    assert codes == [1000]


async def test_a_cancelled_reader_leaves_the_connection_whole() -> None:
    async with serving(echo) as port, opened(f"ws://127.0.0.1:{port}") as socket:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await socket.receive()
        await socket.send("still there")
        assert await socket.receive() == "still there"


async def test_a_server_that_sends_faster_than_we_read_has_to_wait() -> None:
    count, done = 400, asyncio.Event()

    async def flood(connection: ServerConnection) -> None:
        for _ in range(count):
            await connection.send(b"x" * 250_000)
        done.set()
        await connection.wait_closed()

    async with serving(flood) as port, opened(f"ws://127.0.0.1:{port}", queue=4) as socket:
        await socket.receive()
        await asyncio.sleep(0.2)
        assert not done.is_set(), "100 MB fit into no buffer of the system"
        for _ in range(count - 1):
            await socket.receive()
        await done.wait()


# ── TLS and proxies: as HTTP has them ───────────────────────────────────────────────────────────


@pytest.mark.usefixtures("trusting")
async def test_a_server_whose_authority_is_trusted_is_spoken_to(secure: ssl.SSLContext) -> None:
    async with serving(echo, secure) as port, opened(f"wss://localhost:{port}") as socket:
        await socket.send("hello")
        assert await socket.receive() == "hello"


async def test_a_server_that_nobody_vouches_for_is_not_spoken_to(secure: ssl.SSLContext) -> None:
    async with serving(echo, secure) as port:
        with pytest.raises(Unreachable, match="certificate verify failed"):
            async with opened(f"wss://localhost:{port}"):
                pass


@pytest.mark.usefixtures("trusting")
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("proxy_tls", [False, True])
async def test_a_websocket_goes_through_a_tunnel_that_the_proxy_opens(
    secure: ssl.SSLContext, tls: bool, proxy_tls: bool
) -> None:
    async with (
        serving(echo, secure if tls else None) as port,
        Passing(port, PASS, secure if proxy_tls else None) as proxy,
    ):
        place = f"http{'s' if proxy_tls else ''}://me:word@localhost:{proxy.port}"
        url = f"ws{'s' if tls else ''}://localhost:{port}/chat"
        async with opened(url, {"all": place}) as socket:
            await socket.send("hello")
            assert await socket.receive() == "hello"
    [opening] = proxy.heads
    assert opening.startswith(f"CONNECT localhost:{port} HTTP/1.1\r\n")
    assert "proxy-authorization: Basic " in opening


async def test_a_proxy_that_says_no_is_named_without_its_password() -> None:
    async with Passing(0, b"HTTP/1.1 407 Who are you\r\n\r\n") as proxy:
        with pytest.raises(Unreachable) as told:
            async with opened("ws://192.0.2.1/", {"all": f"me:word@127.0.0.1:{proxy.port}"}):
                pass
    why = f"through the proxy 127.0.0.1:{proxy.port}: it answered 407 Who are you"
    assert str(told.value) == why


def test_only_who_needs_a_websocket_loads_the_library() -> None:
    look = "import sys, hermes.wire.http, hermes.providers.build, hermes.gateway.serve\n"
    look += "print('websockets' in sys.modules)"
    command = [sys.executable, "-c", look]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
