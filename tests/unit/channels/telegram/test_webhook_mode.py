"""Telegram calls us: who may call, what is answered, and when."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.core.errors import Misconfigured, StoreBusy
from tests.unit.channels.telegram.world import World, world

SECRET = "a-secret-of-some-length"
HEADER = "X-Telegram-Bot-Api-Secret-Token"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@asynccontextmanager
async def hooked(home: Path) -> AsyncIterator[tuple[World, str]]:
    """The channel in webhook mode, and where it must be called."""
    port = free_port()
    hook = {"url": f"http://127.0.0.1:{port}/tg", "port": port, "secret": SECRET}
    async with world(home, mode="webhook", webhook=hook) as w, w.listening():
        await w.until(w.connected.is_set)
        yield w, w.api.hook["url"]


async def post(url: str, update: Any, secret: str = SECRET) -> int:
    body = update if isinstance(update, bytes) else json.dumps(update).encode()
    async with httpx2.AsyncClient(trust_env=False) as client:
        return (await client.post(url, content=body, headers={HEADER: secret})).status_code


def said(w: World, text: str) -> dict[str, Any]:
    w.api.say(text)
    return w.api.updates[-1]


async def test_an_update_is_answered_after_it_was_accepted(tmp_path: Path) -> None:
    async with hooked(tmp_path) as (w, url):
        update = said(w, "hello")
        assert await post(url, update) == 200
        assert [inbound.text for inbound in w.accepted] == ["hello"]
        assert await post(url, update) == 200, "sent again"
        assert len(w.accepted) == 1
        assert w.polls


async def test_telegram_is_told_the_address_and_the_secret(tmp_path: Path) -> None:
    async with hooked(tmp_path) as (w, url):
        assert w.api.hook["secret_token"] == SECRET
        assert "callback_query" in w.api.hook["allowed_updates"]
        base, _, path = url.rpartition("/")
        assert base.endswith("/tg")
        assert len(path) == 32
        assert SECRET not in url


async def test_nobody_else_is_listened_to(tmp_path: Path) -> None:
    async with hooked(tmp_path) as (w, url):
        update = said(w, "hello")
        assert await post(url, update, secret="another") == 404
        assert await post(url, update, secret="") == 404
        assert await post(url.rpartition("/")[0] + "/guess", update) == 404
        assert w.accepted == []


async def test_what_could_not_be_stored_is_sent_again(tmp_path: Path) -> None:
    async with hooked(tmp_path) as (w, url):
        update = said(w, "hello")
        w.troubles.append(StoreBusy("not now"))
        assert await post(url, update) == 503
        assert await post(url, update) == 200
        assert len(w.accepted) == 1


async def test_what_cannot_be_read_is_not_sent_for_ever(tmp_path: Path) -> None:
    async with hooked(tmp_path) as (w, url):
        assert await post(url, b"no json") == 200
        assert await post(url, {"update_id": 1, "message": {"chat": 5}}) == 200
        assert await post(url, b"x" * 1_000_001) == 413
        assert w.accepted == []


async def test_a_port_in_use_is_a_wrong_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        hook = {"url": "http://x.test", "port": taken.getsockname()[1], "secret": SECRET}
        async with world(tmp_path, mode="webhook", webhook=hook) as w, w.listening() as task:
            with pytest.raises(Misconfigured) as caught:
                await task
    assert caught.value.key == "platforms.telegram.webhook.port"


async def test_an_address_that_telegram_refuses_is_a_wrong_setting(tmp_path: Path) -> None:
    hook = {"url": "http://x.test", "port": free_port(), "secret": SECRET}
    async with world(tmp_path, mode="webhook", webhook=hook) as w:
        told = "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"
        w.api.fault("setWebhook", "refuse", description=told)
        async with w.listening() as task:
            with pytest.raises(Misconfigured, match="https url") as caught:
                await task
    assert caught.value.key == "platforms.telegram.webhook.url"
