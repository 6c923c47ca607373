"""What a stranger, or a careless client, can make the HTTP server hold: a little, for a while."""

import asyncio
import json
from pathlib import Path

import pytest

from hermes.httpd.parser import HEAD_BYTES_MAX, HEADERS_MAX
from hermes.testing.model import Model
from tests.attacks.wire import WAIT_S, asked, parsed, request, sent
from tests.process.gateway import KEY, gateway

CHAT = "/v1/chat/completions"


def deep(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


async def test_web_limits_a_head_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        port = here.port
        for headers in (
            {"x_long": "a" * HEAD_BYTES_MAX},
            {"authorization": "Bearer " + "a" * HEAD_BYTES_MAX},
            {f"x_{n}": "a" for n in range(HEADERS_MAX)},
        ):
            got = await asked(port, **headers)
            assert got.status == 431
            assert got.json()["error"]["type"] == "invalid_request_error"
        assert (await asked(port, target="/v1/models?" + "a" * HEAD_BYTES_MAX)).status == 431
        assert (await asked(port, cookie="a" * 20 * HEAD_BYTES_MAX)).status in (0, 431)
        assert (await asked(port, x_long="a" * (HEAD_BYTES_MAX // 2))).status == 200
        never_ends = b"GET / HTTP/1.1\r\nHost: localhost\r\nx-long: " + b"a" * 2 * HEAD_BYTES_MAX
        assert (await sent(port, never_ends)).status in (0, 431)


async def test_web_limits_what_is_no_http_is_refused_and_hurts_nobody(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        ours = f"Host: 127.0.0.1:{here.port}\r\nAuthorization: Bearer {KEY}\r\n"
        post = f"POST {CHAT} HTTP/1.1\r\n{ours}"
        for raw in (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"hello\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n bad header\r\n\r\n",
            b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
            f"{post}Content-Length: -1\r\n\r\n".encode(),
            f"{post}Content-Length: 5\r\nContent-Length: 6\r\n\r\n".encode(),
            f"{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode(),
        ):
            assert (await sent(here.port, raw)).status in (400, 421), raw
        assert (await asked(here.port)).status == 200
        assert model.asked == []


async def test_web_limits_huge_deep_and_broken_json_is_a_bad_request(tmp_path: Path) -> None:
    message = '{"role": "user", "content": %s}'
    whole = '{"messages": [{"role": "user", "content": "hi"}], "x": %s}'
    bodies = [
        deep(100_000),
        deep(100_000, '{"a":', "1}")[:-1],
        whole % deep(100_000),
        whole % deep(100_000, '{"a":', "}"),
        '{"messages": [' + message % deep(50_000) + "]}",
        '{"messages": [' + message % f'"{chr(0xD800)}"' + "]}",
        '{"messages": [], "n": ' + "9" * 100_000 + "}",
        '{"messages": 5}',
        '{"messages": [{"role": "root", "content": "hi"}]}',
        "null",
        '"' + "a" * 1_000_000,
        "\0",
        "",
    ]
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        for text in bodies:
            body = text.encode("utf-8", "surrogatepass")
            got = await asked(here.port, "POST", CHAT, body=body)
            assert got.status == 400, text[:60]
            assert got.json()["error"]["message"]
            got = await asked(here.port, "POST", "/v1/approvals/x", body=body)
            assert got.status in (400, 404), text[:60]
        assert (await asked(here.port, "POST", CHAT, body=b"x" * 10_000_001)).status == 413
        said = b"\xff\xfe" + json.dumps({"messages": []}).encode("utf-16-le")
        assert (await asked(here.port, "POST", CHAT, body=said)).status == 400
        assert model.asked == []
        assert (await here.say("hi")).status == 200


async def test_web_limits_a_stranger_who_announces_a_gigabyte_is_answered_before_it(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        for key in ("", f"Bearer {KEY}"):
            raw = request(
                *("POST", CHAT),
                host=f"127.0.0.1:{here.port}",
                authorization=key,
                content_length=str(10**9),
            )
            got = await sent(here.port, raw + b"{")
            assert got.status == (413 if key else 401)


@pytest.mark.slow
async def test_web_limits_a_head_that_dribbles_in_is_not_waited_for(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()

        async def dribbled(begin: bytes, *, forever: bool) -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
            writer.write(begin)
            answer = asyncio.create_task(reader.read())
            while forever and not answer.done():
                writer.write(b"x")
                await asyncio.wait({answer}, timeout=0.5)
            raw = await asyncio.wait_for(answer, WAIT_S)
            writer.close()
            return raw

        async def again() -> bytes:
            """Send a valid first request, then a second one that dribbles on the same
            connection."""
            first = request("GET", "/health", host=f"localhost:{here.port}", connection="")
            return await dribbled(first + b"GET / HTTP/1.1\r\nx-slow: ", forever=True)

        head = b"GET /health HTTP/1.1\r\nHost: localhost\r\nx-slow: "
        silent, slow, stuck, second = await asyncio.gather(
            dribbled(b"", forever=False),
            dribbled(head, forever=True),
            dribbled(head, forever=False),
            again(),
        )
        assert silent == b""
        assert parsed(slow).status == parsed(stuck).status == 408
        assert second.count(b"HTTP/1.1 200") == second.count(b"HTTP/1.1 408") == 1


@pytest.mark.slow
async def test_web_limits_the_rest_of_a_refused_body_is_not_waited_for(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        more = {"authorization": "", "connection": "", "content_length": "1000000"}
        writer.write(request("POST", CHAT, host=f"127.0.0.1:{here.port}", **more))
        answer = asyncio.create_task(reader.read())
        while not answer.done():
            writer.write(b"x")
            await asyncio.wait({answer}, timeout=0.5)
        assert parsed(await answer).status == 401
        writer.close()
