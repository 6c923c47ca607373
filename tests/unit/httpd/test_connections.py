"""How long a client is waited for, what it is told, and how it is let go."""

import asyncio
import contextlib
import gc
from collections import Counter

import pytest

from hermes.httpd.alarm import Alarm
from hermes.httpd.connection import ConnectionTimeouts, HttpConnection
from hermes.httpd.outlet import Outlet
from hermes.httpd.parser import RequestParser
from hermes.httpd.request import HttpRequest
from hermes.httpd.response_writer import ResponseWriter
from hermes.httpd.server import CONNECTIONS_MIN
from tests.unit.httpd.place import (
    CLOSE,
    HOST,
    QUICK,
    WAIT_S,
    Served,
    Wire,
    get,
    post,
    served,
    statuses,
)

EXPECT = b"Content-Length: 5\r\nExpect: 100-continue\r\n"


async def until_gone(here: Served) -> None:
    request = await asyncio.wait_for(here.house.begun.get(), WAIT_S)
    async with asyncio.timeout(WAIT_S):
        while not request.gone:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_connection_is_kept_for_a_while() -> None:
    async with served(QUICK) as here:
        wire = await here.dial()
        for _ in range(3):
            wire.write(get())
            assert (await wire.until(b"here")).startswith(b"HTTP/1.1 200 OK\r\n")
            await asyncio.sleep(0.1)
        assert await wire.rest() == b"", "nobody asked any more"
        wire.close()


async def test_who_says_nothing_is_not_waited_for_and_who_dribbles_is_told() -> None:
    async with served(QUICK) as here:
        assert await here.sent(b"") == b""
        assert statuses(await here.sent(get()[:-2])) == [408]
        raw = await here.sent(get() + get()[:-2])
        assert statuses(raw) == [200, 408], "the second one began, too"


async def test_the_rest_of_a_body_that_nobody_wants_is_not_waited_for() -> None:
    async with served(QUICK) as here:
        wire = await here.dial()
        wire.write(post("/refuse", b"Content-Length: 1000\r\n", b"x"))
        assert statuses(await wire.rest()) == [403]
        wire.close()


async def test_the_rest_of_a_body_that_nobody_wants_is_no_request() -> None:
    async with served() as here:
        wire = await here.dial()
        body = get("/nowhere")
        wire.write(post("/refuse", b"Content-Length: %d\r\n" % len(body)))
        await wire.until(b"\r\n\r\nno")
        wire.write(body + get("/", CLOSE))
        assert statuses(await wire.rest()) == [200]
        wire.close()


async def test_a_slow_body_is_not_waited_for() -> None:
    async with served(QUICK) as here:
        raw = await here.sent(post("/echo", b"Content-Length: 10\r\n", b"x"))
        assert statuses(raw) == [408]
        assert raw.endswith(b"too slow")


@pytest.mark.parametrize("size", [900_000, 50_000_000])
async def test_who_sends_too_much_sees_why(size: int) -> None:
    """Up to a limit it is read on; beyond that the connection closes softly."""
    async with served() as here:
        wire = await here.dial()
        wire.write(post("/echo", b"Content-Length: %d\r\n" % size))
        answer = asyncio.create_task(wire.rest())
        with contextlib.suppress(ConnectionError):
            for _ in range(900):
                wire.write(b"x" * 1_000)
                await wire.writer.drain()
        raw = await answer
        assert statuses(raw) == [413]
        assert raw.endswith(b"too large")
        wire.close()


async def test_a_body_is_not_read_before_somebody_wants_it() -> None:
    async with served() as here:
        wire = await here.dial()
        wire.write(get("/wait") + post("/echo", b"Content-Length: 90000000\r\n"))
        await asyncio.wait_for(here.house.begun.get(), WAIT_S)

        async def pour() -> None:
            while True:
                wire.write(b"x" * 65_536)
                await wire.writer.drain()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pour(), 1.0)
        wire.writer.transport.set_write_buffer_limits(0)
        assert wire.writer.transport.get_write_buffer_size() > 0
        wire.writer.transport.abort()


async def test_a_client_is_told_to_go_on_when_its_body_is_wanted() -> None:
    async with served() as here:
        wire = await here.dial()
        wire.write(post("/echo", EXPECT))
        assert await wire.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.write(b"hello")
        assert statuses(await wire.until(b"hello")) == [200]
        wire.write(post("/refuse", EXPECT))
        assert statuses(await wire.until(b"\r\n\r\nno")) == [403], "and not when it is not"
        wire.close()


async def test_the_head_alone_says_how_long_the_body_would_be() -> None:
    async with served() as here:
        raw = await here.sent(b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n" + get("/", CLOSE))
        first, _, rest = raw.partition(b"\r\n\r\n")
        assert b"content-length: 4" in first
        assert rest.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("more", [b"", b"Connection: keep-alive\r\n"])
async def test_an_older_client_gets_one_answer_without_chunks(more: bytes) -> None:
    async with served() as here:
        here.house.go.set()
        raw = await here.sent(get("/", more, version=b"1.0") + get("/", version=b"1.0"))
        assert statuses(raw) == [200]
        assert b"connection: close" in raw
        raw = await here.sent(get("/stream", more, version=b"1.0"))
        assert b"transfer-encoding" not in raw
        assert raw.endswith(b"\r\n\r\none,two")


async def test_a_stream_comes_in_pieces_and_ends() -> None:
    async with served() as here:
        wire = await here.dial()
        wire.write(get("/stream") + get("/", CLOSE))
        assert b"transfer-encoding: chunked" in await wire.until(b"4\r\none,\r\n")
        here.house.go.set()
        await wire.until(b"3\r\ntwo\r\n0\r\n\r\n")
        assert (await wire.rest()).endswith(b"here")
        wire.close()


async def test_who_leaves_is_noticed_in_a_stream_and_while_he_waits() -> None:
    async with served() as here:
        for path in ("/stream", "/wait", "/flood"):
            wire = await here.dial()
            wire.write(get(path))
            await asyncio.sleep(0.05)
            wire.close()
            await until_gone(here)
        here.house.go.set()


async def test_who_closes_his_side_has_left() -> None:
    async with served() as here:
        wire = await here.dial()
        wire.write(get("/wait"))
        wire.writer.write_eof()
        await until_gone(here)
        assert await wire.rest() == b""
        wire.close()


async def unread(here: Served, raw: bytes) -> Wire:
    wire = await here.dial()
    wire.writer.transport.pause_reading()
    wire.write(raw)
    return wire


async def test_who_does_not_read_is_not_written_to_for_ever() -> None:
    async with served(ConnectionTimeouts(keep_alive_s=60.0, stuck_s=0.5)) as here:
        wire = await unread(here, get("/flood"))
        await until_gone(here)
        put = here.house.put
        assert put < 5_000, "it waited"
        await asyncio.sleep(0.05)
        assert here.house.put <= put + 1
        wire.writer.transport.abort()


async def test_who_does_not_read_gets_no_further_answers() -> None:
    async with served() as here:
        wire = await unread(here, get("/large/9000000") * 50)
        await asyncio.sleep(0.3)
        assert len(here.house.seen) == 1
        wire.writer.transport.resume_reading()
        read = 0
        while read < 50 * 9_000_000:
            read += len(await asyncio.wait_for(wire.reader.read(1_000_000), WAIT_S))
        assert len(here.house.seen) == 50
        wire.close()


async def test_who_reads_slowly_is_waited_for() -> None:
    loop = asyncio.get_running_loop()
    async with served(ConnectionTimeouts(keep_alive_s=60.0, stuck_s=0.8)) as here:
        wire = await here.dial()
        wire.write(get("/large/30000000", CLOSE))
        read, began = 0, loop.time()
        while piece := await asyncio.wait_for(wire.reader.read(200_000), WAIT_S):
            read += len(piece)
            await asyncio.sleep(0.01)
        assert read > 30_000_000
        assert loop.time() - began > 0.8
        wire.close()


async def test_what_breaks_is_told_and_logged_and_hurts_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with served() as here:
        raw = await here.sent(get("/break"))
        assert statuses(raw) == [500]
        assert b"connection: close" in raw
        raw = await here.sent(get("/break/late"))
        assert raw.endswith(b"5\r\nbegun\r\n"), "its end is missing"
        assert statuses(await here.sent(get("/", CLOSE))) == [200]
    assert caplog.text.count("RuntimeError: a fault of ours") == 2


async def test_who_says_nothing_gives_way_to_who_asks() -> None:
    async with served(connections_max=1) as here, contextlib.AsyncExitStack() as open_:
        silent = []
        for _ in range(CONNECTIONS_MIN + 20):
            wire = await here.dial()
            open_.callback(wire.close)
            silent.append(wire)
        for _ in range(3):
            assert statuses(await here.sent(get("/", CLOSE))) == [200]
        assert await silent[0].rest() == b"", "the oldest had to go"
        assert not silent[-1].reader.at_eof()


async def test_when_everybody_is_busy_a_newcomer_is_told() -> None:
    async with served(connections_max=1) as here, contextlib.AsyncExitStack() as open_:
        for _ in range(CONNECTIONS_MIN - 1):
            wire = await here.dial()
            open_.callback(wire.close)
            wire.write(get("/wait"))
            await asyncio.wait_for(here.house.begun.get(), WAIT_S)
        raw = await here.sent(get())
        assert statuses(raw) == [503]
        assert b"connection: close" in raw
        here.house.go.set()


async def test_at_the_end_answers_that_are_being_written_come() -> None:
    async with contextlib.AsyncExitStack() as open_:
        async with served() as here:
            idle, waits, streams = [await here.dial() for _ in range(3)]
            for wire in (idle, waits, streams):
                open_.callback(wire.close)
            idle.write(get())
            await idle.until(b"here")
            waits.write(get("/wait") + get("/nowhere"))
            streams.write(get("/stream"))
            for _ in range(2):
                await asyncio.wait_for(here.house.begun.get(), WAIT_S)
            asyncio.get_running_loop().call_later(0.1, here.house.go.set)
        assert await idle.rest() == b""
        raw = await waits.rest()
        assert statuses(raw) == [200]
        assert b"connection: close" in raw
        assert (await streams.rest()).endswith(b"two\r\n0\r\n\r\n")
        with pytest.raises(ConnectionRefusedError):
            await here.dial()


async def test_at_the_end_nobody_is_waited_for_for_ever() -> None:
    loop = asyncio.get_running_loop()
    async with contextlib.AsyncExitStack() as open_:
        async with served(grace_s=0.2) as here:
            waits, streams = await here.dial(), await here.dial()
            open_.callback(waits.close)
            open_.callback(streams.close)
            waits.write(get("/wait"))
            streams.write(get("/stream"))
            stuck = await unread(here, get("/flood"))
            open_.callback(stuck.writer.transport.abort)
            for _ in range(3):
                await asyncio.wait_for(here.house.begun.get(), WAIT_S)
            began = loop.time()
        assert loop.time() - began < 2.0
        assert statuses(await waits.rest()) == [500]
        assert not (await streams.rest()).endswith(b"0\r\n\r\n")


async def test_a_connection_that_is_over_is_forgotten_at_once() -> None:
    """Without the collector of garbage, which comes late and costs more than what it frees."""
    gc.collect()
    gc.disable()
    try:
        async with served() as here:
            for _ in range(5):
                await here.sent(get("/", CLOSE))
                await here.sent(b"nonsense")
                kept = await here.dial()
                kept.write(get())
                await kept.until(b"here")
                kept.close()
                left = await here.dial()
                left.write(post("/echo", b"Content-Length: 5\r\n", b"x"))
                await asyncio.wait_for(here.house.begun.get(), WAIT_S)
                left.close()
            await asyncio.sleep(0.1)
            kinds = (HttpConnection, RequestParser, HttpRequest, ResponseWriter, Outlet, Alarm)
            there = (type(one) for one in gc.get_objects())
            assert Counter(kind.__name__ for kind in there if kind in kinds) == {}
    finally:
        gc.enable()


async def test_a_connection_that_is_over_leaves_nothing_behind() -> None:
    async with served() as here:
        for _ in range(20):
            await here.sent(get("/", CLOSE) + get())
            await here.sent(b"nonsense")
        await asyncio.sleep(0.05)
        loop = asyncio.get_running_loop()
        left = [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        assert left == []
        gc.collect()
        assert len(asyncio.all_tasks()) == 1
