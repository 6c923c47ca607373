"""Whose a token is: what the platform says, whatever it says it with, and never the token."""

import json
import logging
import time

import pytest

from hermes.channels.telegram.bot_token import (
    ANSWER_BYTES_MAX,
    BotIdentity,
    BotRejected,
    BotUnreachable,
    Verdict,
    check,
)
from tests.unit.providers.servers import DROP, HANG, Play, Server, head, plain

TOKEN = "12345678:" + "g" * 35
ME = {"ok": True, "result": {"id": 1, "username": "my_bot"}}
SHORT_S = 0.3


async def verdict(play: Play, token: str = TOKEN) -> Verdict:
    async with Server([play]) as server:
        return await check(token, server.url)


async def test_a_known_token_has_a_name_and_stands_in_the_address_alone() -> None:
    async with Server([[plain(ME)]]) as server:
        assert await check(TOKEN, server.url) == BotIdentity("my_bot")
    (taken,) = server.taken
    assert taken.line == f"GET /v1/bot{TOKEN}/getMe HTTP/1.1"
    assert TOKEN not in str(taken.headers)


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refusal_counts_whatever_comes_with_it(status: int) -> None:
    for play in ([plain(ME, status=status)], [head(status, content_length="9"), HANG]):
        assert await verdict(play) == BotRejected()


@pytest.mark.parametrize(
    "play",
    [
        [plain(b"<html>", status=502)],
        [plain(b"\xff\xfe")],
        [plain({"ok": True})],
        [plain({"result": {"username": 7}})],
        [plain(b"", status=302, location="http://127.0.0.1:9/")],
        [b"SSH-2.0-nothing\r\n\r\n", DROP],
        [DROP],
        [head(content_length="99") + b'{"result":', DROP],
        [head(connection="close"), json.dumps(ME).encode() + b" " * ANSWER_BYTES_MAX, DROP],
        [plain(json.dumps(ME).encode() + b" " * ANSWER_BYTES_MAX)],
    ],
)
async def test_what_says_nothing_about_the_token_is_no_verdict(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert await verdict(play) == BotUnreachable()
    assert TOKEN not in caplog.text


async def test_a_server_that_hangs_is_not_waited_for_beyond_the_limit() -> None:
    async with Server([[HANG]]) as server:
        began = time.monotonic()
        assert await check(TOKEN, server.url, SHORT_S) == BotUnreachable()
        assert SHORT_S <= time.monotonic() - began < 20


@pytest.mark.parametrize("token", ["", "a b", "a\r\nhost: x", "\udc80", "ü"])
async def test_a_token_of_any_letters_can_be_asked_about(token: str) -> None:
    assert await verdict([plain({}, status=404)], token) in (BotRejected(), BotUnreachable())


@pytest.mark.parametrize("base", ["", "no url", "ftp://x", "http://[bad", "http://a..b"])
async def test_an_address_that_leads_nowhere_is_not_asked(base: str) -> None:
    assert await check(TOKEN, base) == BotUnreachable()
