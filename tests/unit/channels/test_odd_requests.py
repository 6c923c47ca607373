"""Whatever comes over the wire to a channel that serves: an answer with a reason, and no fault."""

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest

from hermes.channels.local.sockets import connected
from hermes.channels.local.wire import told
from hermes.core.errors import ChannelDown
from hermes.core.ids import session_key
from tests.unit.channels.api.place import client, served
from tests.unit.channels.local.house import house, message
from tests.unit.channels.odd import NOT_DOCUMENTS, documents
from tests.unit.channels.telegram.world import world
from tests.unit.channels.webhook.door import door_on, listening, opened
from tests.unit.channels.webhook.test_webhook_server import CI, signed

T = TypeVar("T")
AT_ONCE = 24

CHAT = {
    "model": "hermes",
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "hello"}]},
    ],
    "stream": False,
    "stream_options": {"include_usage": True},
    "user": "me",
}
PATHS = (
    *("/v1/sessions?limit={}", "/v1/sessions?before={}", "/v1/sessions/{}", "/v1/turns/{}"),
    *("/v1/sessions/{}/messages", "/v1/models/{}", "/v1/approvals?all={}", "/{}"),
)
ODD_TEXTS = (
    *("", "%00", "%ff", "..%2f", "-1", "9" * 400, "1e308", "nan", "%ED%A0%BD", "x" * 3_000, "%"),
)


async def some_at_once(calls: Iterable[Awaitable[T]], most: int = AT_ONCE) -> list[T]:
    results: list[T] = []
    rest = iter(calls)
    while batch := list(itertools.islice(rest, most)):
        results += await asyncio.gather(*batch)
    return results


async def test_the_api_answers_every_odd_request_without_a_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path) as s:

        async def post(path: str, body: bytes, **headers: str) -> int:
            return (await s.http.post(path, content=body, headers=headers)).status_code

        bodies = [*documents(CHAT)]
        statuses = await some_at_once(post("/v1/chat/completions", body) for body in bodies)
        statuses += await some_at_once(
            post(path, body)
            for path in ("/v1/approvals/x", "/v1/turns/x/stop")
            for body in (*NOT_DOCUMENTS, *documents({"answer": "approve"}))
        )
        good = json.dumps(CHAT).encode()
        named = ("x-hermes-session-id", "idempotency-key", "content-type", "expect", "range")
        statuses += await some_at_once(
            post("/v1/chat/completions", good, **{name: value})
            for name in named
            for value in ("", "x" * 3_000, "a/b", "..", '"')
        )
        for path, text in itertools.product(PATHS, ODD_TEXTS):
            statuses.append((await s.http.get(path.format(text))).status_code)
        assert {status for status in statuses if status >= 500} == set()
        assert "could not be answered" not in caplog.text
        assert (await s.chat("after all")).json()["choices"][0]["message"]["content"]


async def test_a_webhook_answers_every_odd_event_without_a_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    event = {"ref": "main", "by": {"name": "Ada"}, "more": [{"x": 1}]}
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        client(url) as http,
    ):
        numbers = itertools.count()

        async def post(body: bytes, **headers: str) -> int:
            name = {"X-Hermes-Delivery": f"d{next(numbers)}"}
            given = {**signed(body, **name), **headers}
            return (await http.post("/webhooks/ci", content=body, headers=given)).status_code

        statuses = await some_at_once(post(body) for body in documents(event))
        good, stamps = json.dumps(event).encode(), ("", "x", "-1", "9" * 400, "1e308", "nan")
        for name in ("X-Hermes-Timestamp", "X-Hermes-Signature", "X-Hermes-Delivery"):
            statuses += [await post(good, **{name: stamp}) for stamp in stamps]
        assert {status for status in statuses if status >= 500} == set()
        assert "could not be answered" not in caplog.text
        assert await post(b'{"ref": "after all"}') == 202


async def test_the_socket_of_a_home_outlives_every_odd_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A line that nobody understands ends that visit, and no other."""
    key = session_key("local", "dm", "main")
    said = {
        "n": 1,
        "type": "say",
        "inbound": {
            "id": "m1",
            "account": "local",
            "session": key,
            "sender": {"id": "owner"},
            "address": {"platform": "local", "chat": "main"},
            "text": "hello",
            "at": time.time(),
        },
    }
    lines = (
        said,
        {"type": "status", "n": 1},
        {"type": "follow", "n": 2, "key": key, "after": 0, "live": True},
        {"type": "deliver", "n": 3, "key": key},
        {"type": "outcome", "n": 4, "key": key, "turn": "t"},
        {"type": "shown", "key": "k"},
        {"type": "scene", "n": 5, "key": key, "recent": 3},
        {"type": "commands", "n": 6},
        {"type": "conversations", "n": 7, "key": key, "limit": 5},
    )
    async with house(tmp_path) as place:

        async def visit(line: bytes) -> None:
            reader, writer = await connected(place.path)
            writer.write(line.replace(b"\n", b" ") + b'\n{"type": "status", "n": 9}\n')
            async with asyncio.timeout(10):
                while told := await reader.readline():
                    if json.loads(told).get("n") == 9:
                        break
            writer.close()
            await writer.wait_closed()

        for good in lines:
            await some_at_once((visit(body) for body in documents(good)), most=4)
        assert not place.listening.done()
        broken = [record.message for record in caplog.records if record.exc_info]
        assert broken == []
        chat = await place.chat()
        assert (await chat.say(message("after all"))).fresh
        await chat.close()


def test_a_chat_understands_its_gateway_or_hangs_up() -> None:
    reply = {"id": "r", "session": "s", "address": {"platform": "local", "chat": "m"}, "text": "x"}
    lines = (
        {"type": "hello", "protocol": 1, "abilities": ["scenes"]},
        {"type": "failed", "n": 1, "error": "Rejected", "why": "no"},
        {"type": "accepted", "n": 1, "accepted": {"key": "k", "position": 1, "fresh": True}},
        {"type": "reply", "key": "k", "reply": reply, "chunk": "x"},
        {"type": "text", "session": "s", "turn": "t", "text": "x"},
    )
    for good in lines:
        for line in documents(good):
            with contextlib.suppress(ChannelDown):
                told(line)


async def test_no_odd_update_of_telegram_stops_those_behind_it(tmp_path: Path) -> None:
    update = {
        "update_id": 1,
        "message": {
            "message_id": 5,
            "date": 1,
            "chat": {"id": 7, "type": "private", "title": "t"},
            "from": {"id": 7, "is_bot": False, "first_name": "Ada", "username": "ada"},
            "text": "hello",
            "entities": [{"type": "mention", "offset": 0, "length": 5}],
            "reply_to_message": {"message_id": 4, "chat": {"id": 7, "type": "private"}},
            "quote": {"text": "q"},
        },
    }
    async with world(tmp_path) as w, w.listening() as task:
        for n, body in enumerate(documents(update)):
            try:
                odd = json.loads(body)
            except (ValueError, RecursionError):
                continue
            if isinstance(odd, dict):
                w.api.push({**odd, "update_id": 10 + n})
        last = {"message_id": 9, "chat": {"id": 7, "type": "private"}, "from": {"id": 7}}
        w.api.push({"update_id": 10**6, "message": {**last, "text": "after all"}})
        await w.until(lambda: task.done() or any(i.text == "after all" for i in w.accepted))
        assert not task.done(), task.exception()
