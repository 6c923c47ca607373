"""What counts as a request, and where each one ends: nothing is smuggled past that."""

import asyncio

import pytest

from hermes.httpd.connection import PIECE_BYTES
from hermes.httpd.head import authority_of
from hermes.httpd.parser import HEAD_BYTES_MAX, HEADERS_MAX
from tests.unit.httpd.place import (
    CLOSE,
    HOST,
    WAIT_S,
    get,
    post,
    served,
    statuses,
)

SMUGGLED = get("/ids/smuggled/end")


@pytest.mark.parametrize(
    "more",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5\r\nContent-Length: 5\r\n",
        b"Content-Length: 5, 6\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 0x5\r\n",
        b"Content-Length: 99999999999999999999999\r\n",
        b"Content-Length : 5\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n",
        b"X: a\r\n folded\r\n",
        b" X: a\r\n",
        b"X: a\nY: b\r\n",
        b"X: a\rY: b\r\n",
        b"X: a\0b\r\n",
        b"X\0: a\r\n",
        b"X : a\r\n",
        b": a\r\n",
        b"no colon\r\n",
    ],
)
async def test_a_head_that_two_readers_could_read_differently_is_refused(more: bytes) -> None:
    async with served() as here:
        raw = await here.sent(post("/echo", more, b"0\r\n\r\n" + SMUGGLED))
        assert statuses(raw) == [400]
        assert b"connection: close" in raw
        assert b"smuggled" not in raw
        assert not [line for line in here.house.seen if "ids" in line]


@pytest.mark.parametrize(
    "chunks",
    [
        b"-1\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhelloX\r\n0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"fffffffffffffffff\r\n",
        b"g\r\n",
        b"\r\n\r\n",
        b"0\r\nX : a\r\n\r\n",
    ],
)
async def test_a_body_in_bad_chunks_is_refused_and_nobody_takes_it_for_whole(
    chunks: bytes,
) -> None:
    async with served() as here:
        more = b"Transfer-Encoding: chunked\r\n"
        raw = await here.sent(post("/echo", more, chunks + SMUGGLED))
        assert statuses(raw) == [400]
        assert b"smuggled" not in raw
        await here.sent(get("/", CLOSE))
        assert "left" in here.house.seen
        assert not [line for line in here.house.seen if line.endswith("200") and "echo" in line]


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\nHost: a\n\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1 \r\n\r\n",
        b"get / HTTP/1.1\r\n\r\n",
        b"HELLO / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET http://localhost HTTP/1.1\r\n\r\n",
        b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
        b"CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0",
    ],
)
async def test_what_is_no_request_is_refused(raw: bytes) -> None:
    async with served() as here:
        assert statuses(await here.sent(raw)) == [400]
        assert statuses(await here.sent(get("/", CLOSE))) == [200]


async def test_a_body_of_an_upgrade_is_a_body_and_not_the_next_request() -> None:
    wish = b"Connection: upgrade\r\nUpgrade: h2c\r\n"
    async with served() as here:
        size = b"Content-Length: %d\r\n" % len(SMUGGLED)
        raw = await here.sent(post("/echo", wish + size, SMUGGLED) + get("/", CLOSE))
        assert statuses(raw) == [200, 200]
        assert SMUGGLED in raw, "it came back as what it is"
        chunked = b"Transfer-Encoding: chunked\r\n"
        wire = await here.dial()
        wire.write(post("/echo", wish + chunked))
        await asyncio.sleep(0.01)
        wire.write(b"5\r\nhello\r\n0\r\n\r\n" + get("/", CLOSE))
        assert (await wire.rest()).count(b"hello") == 1
        wire.close()
        assert here.house.seen == ["POST /echo 200", "GET / 200"] * 2


async def test_an_upgrade_is_answered_like_any_other_request() -> None:
    async with served() as here:
        wish = b"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"
        raw = await here.sent(get("/", wish) + get("/", wish) + get("/", CLOSE))
        assert statuses(raw) == [200, 200, 200]


async def test_what_stands_behind_a_body_is_no_header() -> None:
    async with served() as here:
        more = b"Transfer-Encoding: chunked\r\n" + CLOSE
        body = b"2\r\nhi\r\n0\r\nHost: evil.test\r\nAuthorization: Bearer x\r\n\r\n"
        assert statuses(await here.sent(post("/echo", more, body))) == [200]
        request = here.house.begun.get_nowait()
        assert request.head.header(b"authorization") is None
        assert [name for name, _ in request.head.headers].count(b"host") == 1


async def test_requests_that_come_together_are_answered_in_order() -> None:
    async with served() as here:
        many = 5_000
        first = post("/echo", b"Content-Length: 3\r\n", b"one")
        raw = await here.sent(first + get("/nowhere") + get() * many + get("/", CLOSE) + get())
        assert statuses(raw) == [200, 404] + [200] * (many + 1)
        assert raw.index(b"one") < raw.index(b"404") < raw.index(b"here")


async def test_a_request_behind_another_is_not_begun_before_its_turn() -> None:
    async with served() as here:
        wire = await here.dial()
        wire.write(get("/wait") + post("/echo", b"Content-Length: 2\r\n", b"hi") + b"nonsense")
        await asyncio.wait_for(here.house.begun.get(), WAIT_S)
        await asyncio.sleep(0.05)
        assert here.house.begun.empty()
        here.house.go.set()
        raw = await wire.rest()
        assert statuses(raw) == [200, 200, 400], "what is wrong is refused in its turn"
        assert raw.index(b"went") < raw.index(b"hi") < raw.index(b"Bad Request")
        wire.close()


async def test_a_head_that_comes_in_single_bytes_is_read() -> None:
    async with served() as here:
        wire = await here.dial()
        for byte in post("/echo", b"Content-Length: 2\r\n" + CLOSE, b"hi"):
            wire.write(bytes((byte,)))
            await asyncio.sleep(0)
        assert (await wire.rest()).endswith(b"\r\n\r\nhi")
        wire.close()


async def test_a_head_has_a_limit_in_bytes_and_in_lines() -> None:
    line = b"X-Long: " + b"a" * (HEAD_BYTES_MAX - 200) + b"\r\n"
    many = b"".join(b"X-%d: a\r\n" % n for n in range(HEADERS_MAX - 2))
    async with served() as here:
        assert statuses(await here.sent(get("/", line + CLOSE))) == [200]
        assert statuses(await here.sent(get("/", many + CLOSE))) == [200]
        for raw in (
            get("/", line + b"X: " + b"a" * 200 + b"\r\n"),
            get("/", many + b"A: a\r\n" + b"B: b\r\n" + b"C: c\r\n"),
            get("/" + "a" * HEAD_BYTES_MAX),
            get()[:-2] + b"X-Never: " + b"a" * 2 * HEAD_BYTES_MAX,
            b"\r\n" * HEAD_BYTES_MAX,
        ):
            assert statuses(await here.sent(raw)) == [431], raw[:80]


async def test_what_stands_behind_a_body_has_the_same_limit() -> None:
    async with served() as here:
        more = b"Transfer-Encoding: chunked\r\n"
        for trailer in (
            b"X: " + b"a" * 3 * HEAD_BYTES_MAX,
            b"X: a\r\n" * (HEADERS_MAX + 1),
        ):
            body = b"2\r\nhi\r\n0\r\n" + trailer
            assert statuses(await here.sent(post("/echo", more, body))) == [431]


async def test_a_head_behind_a_request_has_the_same_limit() -> None:
    async with served() as here:
        wire = await here.dial()
        wire.write(get("/wait"))
        await asyncio.wait_for(here.house.begun.get(), WAIT_S)
        wire.write(get()[:-2] + b"X-Never: " + b"a" * (HEAD_BYTES_MAX + 2 * PIECE_BYTES))
        await asyncio.sleep(0.05)
        here.house.go.set()
        assert statuses(await wire.rest()) == [200, 431]
        wire.close()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/ids/a/end", b"a"),
        ("/ids/a/b/end", b"a/b"),
        ("/ids/a%2Fb%20c%25/end", b"a/b c%"),
        ("/ids/%C3%A9/end", "é".encode()),
        ("/ids//end", b""),
        ("/ids/end/end", b"end"),
    ],
)
async def test_a_path_is_decoded_once(path: str, said: bytes) -> None:
    async with served() as here:
        assert (await here.sent(get(path, CLOSE))).endswith(b"\r\n\r\n" + said)


async def test_a_path_leads_somewhere_or_nowhere() -> None:
    async with served() as here:
        for path in ("/echo/", "/ids/end", "/large/", "/large/1/2", "//", "/%0A", "/nowhere"):
            raw = await here.sent(get(path, CLOSE))
            assert statuses(raw) == [404], path
            assert raw.endswith(b"Not Found")
        raw = await here.sent(get("/echo", CLOSE))
        assert statuses(raw) == [405]
        assert b"\r\nallow: POST\r\n" in raw
        raw = await here.sent(b"DELETE / HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n")
        assert b"\r\nallow: GET, HEAD\r\n" in raw


@pytest.mark.parametrize(
    ("target", "authority"),
    [
        (b"/v1/models", None),
        (b"/http://evil.test/", None),
        (b"*", None),
        (b"http://a:1/x", b"a:1"),
        (b"http://a?b/c", b"a"),
        (b"HTTP://a#b", b"a"),
        (b"http://", b""),
        (b"ftp://user@a/x", b"user@a"),
    ],
)
def test_a_request_line_may_name_a_host(target: bytes, authority: bytes | None) -> None:
    assert authority_of(target) == authority


async def test_the_host_of_a_request_line_counts_beside_the_header() -> None:
    async with served() as here:
        raw = post("http://evil.test/echo", b"Content-Length: 0\r\n" + CLOSE)
        assert statuses(await here.sent(raw)) == [200]
        head = here.house.begun.get_nowait().head
        assert [value for name, value in head.headers if name == b"host"] == [
            b"localhost",
            b"evil.test",
        ]
        assert head.path == "/echo"
