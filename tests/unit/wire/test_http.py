"""HTTP to servers that misbehave in every way, on real sockets."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from hermes.wire.faults import Broken, FetchClosed, Stuck, Unsendable
from hermes.wire.http import Client
from hermes.wire.response import HEAD_BYTES_MAX, UNREAD_BYTES_MAX, Response
from tests.unit.providers.servers import DROP, HANG, Play, Server, chunk, head, plain

CHUNKED = head(transfer_encoding="chunked")
OK = head(content_length="2") + b"ok"
BYTES_READ_AT_ONCE = 256 * 1024


def client(url: str, **more: float) -> Client:
    waits = {"connect_s": 10.0, "write_s": 30.0, **more}
    return Client(url, {"x-key": "k"}, proxies={}, **waits)


@contextlib.asynccontextmanager
async def asking(*plays: Play, **more: float) -> AsyncIterator[tuple[Client, Server]]:
    async with Server(plays) as server:
        http = client(server.url, **more)
        try:
            yield http, server
        finally:
            http.close()


async def said(http: Client, body: bytes = b"{}") -> bytes:
    async with http.exchange("POST", "/x", body) as response:
        return b"".join([piece async for piece in response])


async def told(*play: bytes | float | str) -> bytes:
    async with asyncio.timeout(30), asking(play) as (http, _):
        return await said(http)


async def test_a_request_says_what_it_carries_and_asks_for_no_compression() -> None:
    async with asking([OK]) as (http, server):
        assert await said(http, b"body") == b"ok"
        async with http.exchange("GET", "/models") as response:
            assert (response.status, response.headers["content-length"]) == (200, "2")
    post, get = server.taken
    assert (post.line, post.body) == ("POST /v1/x HTTP/1.1", b"body")
    assert post.headers["host"] == f"127.0.0.1:{server.port}"
    assert post.headers["accept-encoding"] == "identity"
    assert post.headers["x-key"] == "k"
    assert get.line == "GET /v1/models HTTP/1.1"
    assert "content-length" not in get.headers


@pytest.mark.parametrize(
    "raw",
    [
        OK,
        head(content_length="2", connection="close") + b"ok",
        CHUNKED + chunk(b"o") + chunk(b"k") + b"0\r\n\r\n",
        CHUNKED + b"2;why=not\r\nok\r\n0\r\nx-sum: 1\r\n\r\n",
        head(connection="close") + b"ok",
        b"HTTP/1.0 200 OK\r\n\r\nok",
        b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\ncontent-length: 2\n\nok",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\ncontent-length: 9\r\n\r\n" + OK,
    ],
)
async def test_every_way_to_end_a_body_is_understood_also_byte_by_byte(raw: bytes) -> None:
    assert await told(raw, DROP) == b"ok"
    assert await told(*(raw[at : at + 1] for at in range(len(raw))), DROP) == b"ok"


@pytest.mark.parametrize(
    "raw",
    [
        head(content_length="3") + b"ok",
        CHUNKED + chunk(b"ok"),
        CHUNKED + b"5\r\nok",
        CHUNKED + chunk(b"ok") + b"0\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
async def test_a_body_without_its_end_is_an_error(raw: bytes) -> None:
    with pytest.raises(Broken, match="closed the connection"):
        await told(raw, DROP)


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        CHUNKED + b"zz\r\nok\r\n",
        b"HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_an_error(raw: bytes) -> None:
    with pytest.raises(Broken):
        await told(raw, HANG)


@pytest.mark.parametrize(
    "start",
    [
        b"HTTP/1.1 200 OK\r\nx: ",
        b"HTTP/1.1 ",
        CHUNKED + b"1;",
        CHUNKED + chunk(b"o") + b"0\r\nx: ",
    ],
)
async def test_a_head_a_chunks_size_and_a_trailer_without_end_are_ended(start: bytes) -> None:
    with pytest.raises(Broken):
        await told(start, *[b"y" * 10_000] * (HEAD_BYTES_MAX // 10_000 + 40), HANG)


async def test_words_on_the_way_without_end_are_ended() -> None:
    with pytest.raises(Broken, match="a head of more than"):
        await told(*[b"HTTP/1.1 100 Continue\r\n\r\n" * 400] * 10, HANG)


async def test_a_connection_that_was_closed_while_idle_is_not_used_again() -> None:
    async with asking([OK, DROP], [OK]) as (http, server):
        assert await said(http) == b"ok"
        await asyncio.sleep(0.02)
        assert await said(http) == b"ok"
    assert (len(server.taken), server.connections) == (2, 2)


async def test_a_kept_connection_that_closes_without_a_byte_is_asked_again_once() -> None:
    async with asking([OK], [DROP], [OK], [DROP], [DROP], [OK]) as (http, server):
        assert await said(http) == b"ok"
        assert await said(http) == b"ok"
        assert (len(server.taken), server.connections) == (3, 2)
        with pytest.raises(FetchClosed):
            await said(http)
    assert (len(server.taken), server.connections) == (5, 3)


async def test_what_began_to_answer_or_was_new_is_not_asked_again() -> None:
    async with asking([DROP], [OK], [b"HTTP/1.1 2", DROP]) as (http, server):
        with pytest.raises(FetchClosed):
            await said(http)
        assert await said(http) == b"ok"
        with pytest.raises(Broken):
            await said(http)
    assert len(server.taken) == 3


async def test_a_connection_is_kept_only_after_an_answer_that_was_read_and_left_it_clean() -> None:
    unread = head(content_length="4") + b"ok"
    closing = head(content_length="2", connection="close") + b"ok"
    async with asking([OK + b"HTTP/1.1 200 OK\r\n"], [closing], [unread, HANG], [OK]) as (http, at):
        assert await said(http) == b"ok"
        assert await said(http) == b"ok"
        async with http.exchange("POST", "/x", b"") as response:
            assert await anext(response) == b"ok"
        await asyncio.wait_for(at.gone.wait(), 30)
        assert await said(http) == b"ok"
        assert await said(http) == b"ok"
    assert (len(at.taken), at.connections) == (5, 4)


async def test_words_that_nobody_asked_for_close_an_idle_connection() -> None:
    async with asking([OK, 0.02, OK], [OK]) as (http, server):
        assert await said(http) == b"ok"
        await asyncio.sleep(0.1)
        assert await said(http) == b"ok"
    assert server.connections == 2


async def test_connections_are_closed_after_their_idle_time() -> None:
    async with asking([OK, HANG], idle_s=0.05) as (http, server):
        assert await said(http) == b"ok"
        await asyncio.wait_for(server.gone.wait(), 30)


async def test_each_exchange_has_a_connection_of_its_own() -> None:
    async with asking([0.05, OK]) as (http, server):
        assert await asyncio.gather(*(said(http) for _ in range(5))) == [b"ok"] * 5
        assert await asyncio.gather(*(said(http) for _ in range(5))) == [b"ok"] * 5
    assert server.connections == 5


async def test_a_server_that_is_faster_than_the_reader_has_to_wait() -> None:
    size = 20_000_000
    async with asking([head(content_length=str(size)), b"x" * size]) as (http, _):
        async with http.exchange("POST", "/x", b"") as response:
            assert isinstance(response, Response)
            await asyncio.sleep(0.1)
            assert response.unread <= UNREAD_BYTES_MAX + BYTES_READ_AT_ONCE
            pieces = [len(piece) async for piece in response]
        assert sum(pieces) == size


async def test_a_server_that_does_not_take_the_request_is_given_up() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        http = client(f"http://127.0.0.1:{deaf.getsockname()[1]}", write_s=0.1)
        with pytest.raises(Stuck, match=r"not within 0\.1 s"):
            await said(http, b"x" * 20_000_000)


async def test_a_server_that_refuses_before_it_has_read_everything_is_heard() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(plain({}, 413))
        with contextlib.suppress(ConnectionError):
            await writer.drain()
            await gone.wait()
        writer.transport.abort()
        closed.set()

    gone, closed = asyncio.Event(), asyncio.Event()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with server, asyncio.timeout(30):
        http = client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with http.exchange("POST", "/", b"x" * 20_000_000) as response:
            assert response.status == 413
        gone.set()
        await closed.wait()


async def test_a_server_that_resets_the_connection_is_an_error() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head(content_length="100") + b"ok")
        await writer.drain()
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    server = await asyncio.start_server(reset, "127.0.0.1", 0)
    async with server:
        with pytest.raises(Broken, match="the connection ended"):
            await said(client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x", "a\r\nhost: evil"),
        ("x", "a\nb"),
        ("x", "a\0b"),
        ("x", "日本"),
        ("x y", "a"),
        ("x:", "a"),
        ("", "a"),
        ("Content-Length", "1"),
        ("transfer-encoding", "chunked"),
    ],
)
def test_a_header_that_could_be_read_as_something_else_is_refused(name: str, value: str) -> None:
    with pytest.raises(Unsendable) as wrong:
        Client("http://x", {name: value}, proxies={}, connect_s=1, write_s=1)
    assert "evil" not in str(wrong.value)


async def test_an_address_of_version_six_is_reached() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with Server([[OK]], host="::1") as server:
        http = client(server.url)
        assert await said(http) == b"ok"
        http.close()
    assert server.taken[0].headers["host"] == f"[::1]:{server.port}"
