"""Files up in forms and down to a limit; what may be sent twice, and what may not."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from email.parser import BytesParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.wire.faults import Broken, FetchClosed, Stuck, TooMuch, Unsendable
from hermes.wire.http import PIECE_BYTES, Client
from hermes.wire.multipart import FormPart, multipart
from tests.unit.providers.servers import DROP, HANG, Play, Server, chunk, head
from tests.unit.wire.raw import raw

OK = head(content_length="2") + b"ok"
BOUNDARY = "0123456789abcdef"
MB = 1024 * 1024


@contextlib.asynccontextmanager
async def asking(*plays: Play, write_s: float = 30.0) -> AsyncIterator[tuple[Client, Server]]:
    async with asyncio.timeout(60), Server(plays) as server:
        http = client(server.url, write_s)
        try:
            yield http, server
        finally:
            http.close()


def client(url: str, write_s: float = 30.0) -> Client:
    return Client(url, {"x-key": "k"}, proxies={}, connect_s=10.0, write_s=write_s)


async def asked(http: Client, method: str = "POST", path: str = "/x", body: bytes = b"{}") -> bytes:
    answer = await http.request(method, path, body, limit_s=30, bytes_max=1_000)
    return answer.body


# ── one request, one answer ─────────────────────────────────────────────────────────────────────


async def test_a_request_has_headers_of_its_own_and_an_answer_is_read_to_its_end() -> None:
    async with asking([head(404, content_length="4", retry_after="7") + b"gone"]) as (http, server):
        answer = await http.request(
            "PATCH", "/x?y=1", b"{}", headers={"X-Key": "other"}, limit_s=30, bytes_max=100
        )
    assert (answer.status, answer.headers["retry-after"], answer.body) == (404, "7", b"gone")
    [taken] = server.taken
    assert taken.line == "PATCH /v1/x?y=1 HTTP/1.1"
    assert (taken.headers["x-key"], taken.headers["content-length"]) == ("other", "2")


async def test_a_header_of_one_request_is_checked_like_the_others() -> None:
    async with asking([OK]) as (http, _):
        for headers in ({"x": "a\r\nb: c"}, {"Content-Length": "9"}, {"bad name": "x"}):
            with pytest.raises(Unsendable):
                await http.request("GET", "/x", headers=headers, limit_s=30, bytes_max=9)


async def test_an_answer_that_takes_too_long_or_is_too_large_is_given_up_and_in_doubt() -> None:
    async with asking([HANG], [head(content_length="2000") + b"x" * 2_000]) as (http, _):
        with pytest.raises(TooMuch, match=r"longer than 0\.2 s") as late:
            await http.request("POST", "/x", limit_s=0.2, bytes_max=1_000)
        with pytest.raises(TooMuch, match="more than 1,000 bytes"):
            await asked(http)
    assert late.value.in_doubt


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_what_may_arrive_twice_is_sent_again_on_a_new_connection(method: str) -> None:
    async with asking([OK], [DROP], [OK]) as (http, server):
        await asked(http)
        assert await asked(http, method, body=b"") == b"ok"
    assert [taken.line.split()[0] for taken in server.taken] == ["POST", method, method]


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_what_must_not_arrive_twice_is_not_sent_again_by_itself(method: str) -> None:
    async with asking([OK], [DROP], [OK]) as (http, server):
        await asked(http)
        with pytest.raises(FetchClosed) as told:
            await asked(http, method)
    assert told.value.in_doubt
    assert len(server.taken) == 2


# ── up ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_form_with_files_is_read_by_others_as_it_was_meant() -> None:
    parts = [
        FormPart(name="payload_json", content=b'{"a": 1}', media_type="application/json"),
        FormPart(name="files[0]", content=b"\0\r\n--x\r\n", filename='a "b"\r\nx: y.txt'),
        FormPart(name="empty", content=b"", filename="grüße.png", media_type="image/png"),
    ]
    kind, body = multipart(parts, boundary=BOUNDARY)
    async with asking([OK]) as (http, server):
        headers = {"content-type": kind}
        answer = await http.request("POST", "/x", body, headers=headers, limit_s=30, bytes_max=100)
    assert answer.body == b"ok"
    [taken] = server.taken
    read = BytesParser().parsebytes(f"content-type: {kind}\r\n\r\n".encode() + taken.body)
    found = [each for each in read.get_payload() if not isinstance(each, str)]
    assert [each.get_payload(decode=True) for each in found] == [part.content for part in parts]
    assert [each.get_content_type() for each in found] == [
        "application/json",
        "text/plain",
        "image/png",
    ]
    names = [str(each["content-disposition"]) for each in found]
    assert names[1] == 'form-data; name="files[0]"; filename="a %22b%22%0D%0Ax: y.txt"'
    assert [list(each.keys()) for each in found][1] == ["content-disposition"]


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20), st.binary(max_size=50))))
def test_no_name_adds_a_line_to_a_form(fields: list[tuple[str, str, bytes]]) -> None:
    parts = [FormPart(name=name, content=content, filename=file) for name, file, content in fields]
    _, pieces = multipart(parts, boundary=BOUNDARY)
    heads = pieces[:-1:3]
    assert all(piece.count(b"\r\n") == 3 and piece.count(b"\n") == 3 for piece in heads)
    assert all(piece.count(b'"') in (2, 4) for piece in heads)
    assert pieces[1::3] == tuple(content for _, _, content in fields)


@pytest.mark.parametrize("boundary", ["", "short", "with space inside", "x" * 71, "a\r\nb: c0123"])
def test_a_boundary_that_would_break_the_form_is_refused(boundary: str) -> None:
    with pytest.raises(Unsendable):
        multipart([], boundary=boundary)


def test_a_media_type_with_a_line_break_is_refused() -> None:
    part = FormPart(name="x", content=b"", media_type="text/plain\r\nx: y")
    with pytest.raises(Unsendable):
        multipart([part], boundary=BOUNDARY)


async def test_a_large_body_leaves_in_pieces_and_its_connection_is_kept() -> None:
    body = [b"a" * (PIECE_BYTES - 1), b"", b"b" * (3 * MB + 1), b"c"]
    async with asking([OK]) as (http, server):
        for _ in range(2):
            answer = await http.request("POST", "/x", body, limit_s=30, bytes_max=9)
            assert answer.body == b"ok"
    assert [taken.body for taken in server.taken] == [b"".join(body)] * 2
    assert server.connections == 1


async def test_a_server_that_takes_a_file_slowly_is_waited_for_while_it_takes_something() -> None:
    """The limit is for each piece, not for the whole."""

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(30):
            await asyncio.sleep(0.02)
            await reader.read(64 * 1024)
        writer.write(head(413, content_length="5") + b"large")
        while await reader.read(MB):
            pass

    async with raw(slow) as port:
        http = client(f"http://127.0.0.1:{port}")
        answer = await http.request("POST", "/x", [b"x" * 40 * MB], limit_s=50, bytes_max=9)
        http.close()
    assert (answer.status, answer.body) == (413, b"large"), "answered before all of it had left"


async def test_a_server_that_stops_taking_a_file_is_given_up() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with raw(deaf) as port:
        http = client(f"http://127.0.0.1:{port}", write_s=0.2)
        with pytest.raises(Stuck) as told:
            await http.request("POST", "/x", [b"x" * 40 * MB], limit_s=50, bytes_max=9)
    assert told.value.in_doubt


# ── down ────────────────────────────────────────────────────────────────────────────────────────


async def downloaded(http: Client, bytes_max: int, silence_s: float = 30.0) -> tuple[int, bytes]:
    whole = b""
    async with http.download("/f", bytes_max=bytes_max, silence_s=silence_s) as (status, pieces):
        async for piece in pieces:
            whole += piece
        return status, whole


@pytest.mark.parametrize("framed", ["length", "chunks"])
async def test_a_download_comes_in_pieces_up_to_its_limit(framed: str) -> None:
    body = b"x" * (2 * MB)
    play: list[bytes] = [head(content_length=str(len(body))) + body]
    if framed == "chunks":
        play = [head(transfer_encoding="chunked"), *[chunk(body[:MB])] * 2, b"0\r\n\r\n"]
    async with asking(play) as (http, server):
        assert await downloaded(http, 2 * MB) == (200, body)
        assert await downloaded(http, 2 * MB) == (200, body)
        assert server.connections == 1


async def test_a_download_without_an_announced_size_ends_at_its_limit() -> None:
    play = [head(transfer_encoding="chunked"), chunk(b"x" * 1_000), chunk(b"x"), HANG]
    async with asking(play) as (http, server):
        with pytest.raises(TooMuch, match="more than 1,000 bytes"):
            await downloaded(http, 1_000)
        await server.gone.wait()


async def test_an_announced_size_beyond_the_limit_is_refused_before_a_byte_is_read() -> None:
    async with asking([head(content_length="900000000"), HANG]) as (http, server):
        with pytest.raises(TooMuch):
            await downloaded(http, MB)
        await server.gone.wait()


async def test_a_download_that_goes_silent_is_given_up() -> None:
    async with asking([head(content_length="9") + b"x", HANG], [HANG]) as (http, _):
        with pytest.raises(Stuck, match="in the middle of a body"):
            await downloaded(http, MB, silence_s=0.2)
        with pytest.raises(Stuck, match="no answer"):
            await downloaded(http, MB, silence_s=0.2)


async def test_a_download_that_ends_too_early_is_an_error() -> None:
    async with asking([head(content_length="9") + b"x", DROP]) as (http, _):
        with pytest.raises(Broken):
            await downloaded(http, MB)
