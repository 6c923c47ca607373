"""One look at a server of the owner's: bounded, without a key, and as models are asked."""

import asyncio

import pytest

from hermes.app.models import looked
from hermes.wire.body import body_of
from hermes.wire.faults import Broken, FetchClosed, HttpFailed, TooMuch, Unreachable, Unsendable
from tests.unit.providers.servers import DROP, HANG, Play, Server, head, plain

LIMIT_S, SHORT_S, BYTES_MAX = 30.0, 0.2, 64 * 1024
FAR = "http://192.0.2.1/v1"  # nobody's: an address for documentation


async def body(url: str, limit_s: float = LIMIT_S) -> bytes:
    async with looked(url, limit_s) as response:
        return await body_of(response, BYTES_MAX)


async def test_an_answer_is_read_and_the_connection_is_closed() -> None:
    async with Server([[plain(b"here"), HANG]]) as server:
        assert await body(f"{server.url}/models?all=1") == b"here"
        await asyncio.wait_for(server.gone.wait(), LIMIT_S)
    (taken,) = server.taken
    assert taken.line == "GET /v1/models?all=1 HTTP/1.1"
    assert taken.headers["user-agent"] == "hermes"
    assert not {"authorization", "cookie", "content-length"} & taken.headers.keys()


@pytest.mark.parametrize("status", [307, 401, 502])
async def test_any_status_is_an_answer_and_none_leads_elsewhere(status: int) -> None:
    said = plain(b"no", status=status, location="http://127.0.0.1:9/", date="today")
    async with Server([[said]]) as server, looked(server.url, LIMIT_S) as response:
        assert (response.status, response.headers["date"]) == (status, "today")
    assert len(server.taken) == 1


async def test_its_head_is_known_before_its_body_and_a_huge_one_is_not_waited_for() -> None:
    huge = head(content_length=str(10**12), date="today")
    async with Server([[huge, HANG]]) as server:
        async with looked(server.url, LIMIT_S) as response:
            assert response.headers["date"] == "today"
        await asyncio.wait_for(server.gone.wait(), LIMIT_S)


@pytest.mark.parametrize(
    ("play", "failed"),
    [
        ([DROP], FetchClosed),
        ([b"SSH-2.0-nothing\r\n\r\n", DROP], Broken),
        ([head(content_length="9") + b"half", DROP], Broken),
        ([head(content_length=str(BYTES_MAX + 1)), HANG], TooMuch),
        ([head(connection="close"), b"x" * (BYTES_MAX + 1), HANG], TooMuch),
    ],
)
async def test_what_is_no_answer_fails_by_name(play: Play, failed: type[HttpFailed]) -> None:
    async with Server([play]) as server:
        with pytest.raises(failed):
            await body(server.url)


@pytest.mark.parametrize("play", [[HANG], [head(content_length="9") + b"half", HANG]])
async def test_a_server_that_hangs_is_left_in_time(play: Play) -> None:
    async with Server([play]) as server:
        with pytest.raises(TooMuch, match=r"longer than 0\.2 s"):
            await body(server.url, SHORT_S)
        await asyncio.wait_for(server.gone.wait(), LIMIT_S)


@pytest.mark.parametrize("url", ["", "no url", "http://[bad", "http://x/\udc80", "http://a..b/"])
async def test_what_is_no_url_is_told(url: str) -> None:
    with pytest.raises(Unsendable):
        await body(url)


async def test_a_late_caller_is_not_told_that_the_server_was() -> None:
    async with Server([[plain(b"here")]]) as server:
        with pytest.raises(TimeoutError):
            async with looked(server.url, LIMIT_S):
                raise TimeoutError


async def test_a_proxy_of_the_environment_is_asked_but_for_our_own_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with Server([[plain(b"by proxy")]]) as proxy, Server([[plain(b"direct")]]) as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert await body(FAR) == b"by proxy"
        assert await body(server.url) == b"direct"
    assert [taken.line for taken in proxy.taken] == [f"GET {FAR} HTTP/1.1"]


async def test_nobody_there_is_unreachable() -> None:
    async with Server([[]]) as server:
        url = server.url
    with pytest.raises(Unreachable):
        await body(url)
