"""Events over a real socket into a real store."""

import asyncio
import socket
import time
from pathlib import Path

import httpx2
import msgspec
import pytest

from hermes.channels.webhook.server import BODY_BYTES_MAX, WebhookChannel
from hermes.channels.webhook.settings import webhook_settings
from hermes.channels.webhook.translate import signature
from hermes.core import events as e
from hermes.core.errors import Misconfigured, Rejected, StoreFull
from hermes.core.ids import SessionKey, session_key
from hermes.core.messages import Address, Inbound, Reply
from hermes.core.store import Accepted, Home, Store
from tests.unit.channels.webhook.door import door_on, listening, opened

SECRET = "correct-horse"
BODY = b'{"ref": "main", "by": {"name": "Ada"}}'
CI: dict[str, object] = {"secret": SECRET, "prompt": "{by.name} pushed {ref}"}
LANE = session_key("webhook", "dm", "ci")


def signed(body: bytes = BODY, *, at: float | None = None, **more: str) -> dict[str, str]:
    stamp = str(int(time.time() if at is None else at))
    proof = signature(SECRET, f"{stamp}.".encode() + body)
    return {"X-Hermes-Timestamp": stamp, "X-Hermes-Signature": proof, **more}


def delivery(name: str) -> dict[str, str]:
    return {"X-Hermes-Delivery": name}


async def received(store: Store, key: str) -> Inbound:
    (event,) = await store.library.events(SessionKey(key))
    assert isinstance(event, e.MessageReceived)
    return event.inbound


async def count(store: Store) -> int:
    return sum(row.waiting for row in await store.library.sessions(limit=100))


class Homes:
    """The one listing that a route looks at."""

    def __init__(self) -> None:
        self.set: list[Home] = []

    async def homes(self) -> list[Home]:
        return self.set


async def test_a_signed_event_is_stored_before_it_is_acknowledged(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        httpx2.AsyncClient() as client,
    ):
        headers = signed() | delivery("d-1")
        answer = await client.post(f"{url}/webhooks/ci", content=BODY, headers=headers)
        key = f"{LANE}:d-1"
        assert answer.status_code == 202
        assert answer.json() == {"status": "accepted", "turn": None, "session": key}
        inbound = await received(store, key)
        assert inbound.text == "Ada pushed main"
        assert inbound.address == Address(platform="webhook", chat="ci")


async def test_a_repeat_is_a_duplicate_even_after_a_restart(tmp_path: Path) -> None:
    headers = signed() | delivery("d-1")
    for expected in (202, 200):
        async with (
            opened(tmp_path) as store,
            listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
            httpx2.AsyncClient() as client,
        ):
            first = await client.post(f"{url}/webhooks/ci", content=BODY, headers=headers)
            again = await client.post(f"{url}/webhooks/ci", content=BODY, headers=headers)
            assert (first.status_code, again.status_code) == (expected, 200)
            assert again.json() == {"status": "duplicate", "session": f"{LANE}:d-1"}
            assert await count(store) == 1


async def test_a_repeat_without_an_id_is_a_duplicate_too(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        httpx2.AsyncClient() as client,
    ):
        headers = signed()
        codes = [
            (await client.post(f"{url}/webhooks/ci", content=BODY, headers=headers)).status_code
            for _ in range(2)
        ]
        assert codes == [202, 200]


async def test_many_at_once_with_one_id_are_one_event(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        httpx2.AsyncClient() as client,
    ):
        headers = signed() | delivery("d-1")
        posts = [client.post(f"{url}/webhooks/ci", content=BODY, headers=headers) for _ in range(8)]
        codes = sorted(answer.status_code for answer in await asyncio.gather(*posts))
        assert codes == [200] * 7 + [202]
        assert await count(store) == 1


async def test_a_caught_event_cannot_be_repeated_under_another_id(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        httpx2.AsyncClient() as client,
    ):
        caught = signed()
        for more, code in ((delivery("a"), 202), (delivery("b"), 409), ({}, 409)):
            answer = await client.post(f"{url}/webhooks/ci", content=BODY, headers=caught | more)
            assert answer.status_code == code
        assert await count(store) == 1


async def test_what_is_not_signed_well_is_refused_and_not_stored(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        httpx2.AsyncClient() as client,
    ):
        for headers, body in (
            ({}, BODY),
            (signed(b"other"), BODY),
            (signed(at=time.time() - 301), BODY),
            (signed(at=time.time() + 320), BODY),
            (signed() | {"X-Hermes-Signature": "sha256=" + "0" * 64}, BODY),
        ):
            answer = await client.post(f"{url}/webhooks/ci", content=body, headers=headers)
            assert answer.status_code == 401
            assert answer.json()["status"] == "refused"
        assert await count(store) == 0
        assert await store.library.sessions(limit=10) == []


async def test_other_paths_and_methods_lead_nowhere(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        httpx2.AsyncClient() as client,
    ):
        unknown = await client.post(f"{url}/webhooks/other", content=BODY, headers=signed())
        got = await client.get(f"{url}/webhooks/ci")
        health = await client.get(f"{url}/health")
        codes = (unknown.status_code, got.status_code, health.status_code)
        assert codes == (404, 405, 200)
        assert health.json() == {"status": "ok"}


async def test_a_large_event_is_refused(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        httpx2.AsyncClient() as client,
    ):
        for size, code in ((BODY_BYTES_MAX, 202), (BODY_BYTES_MAX + 1, 413), (5_000_000, 413)):
            body = b"a" * size
            answer = await client.post(f"{url}/webhooks/ci", content=body, headers=signed(body))
            assert answer.status_code == code, size


async def test_a_slow_body_is_not_waited_for(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, body_s_max=0.1, ci=CI) as url,
    ):
        host, _, port = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /webhooks/ci HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nslow"
        )
        assert (await reader.readline()).startswith(b"HTTP/1.1 408")
        writer.close()
        await writer.wait_closed()
        assert await count(store) == 0


async def test_a_sender_that_goes_away_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, ci=CI) as url,
        httpx2.AsyncClient() as client,
    ):
        host, _, port = url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /webhooks/ci HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ncut"
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert (await client.get(f"{url}/health")).status_code == 200
        assert await count(store) == 0


async def test_github_and_plain_senders_are_heard(tmp_path: Path) -> None:
    github: dict[str, object] = {"secret": SECRET, "signature": "github"}
    plain: dict[str, object] = {"secret": SECRET, "signature": "plain", "session": "route"}
    proof = signature(SECRET, BODY)
    async with (
        opened(tmp_path) as store,
        listening(door_on(store, tmp_path), tmp_path, gh=github, plain=plain) as url,
        httpx2.AsyncClient() as client,
    ):
        headers = {"X-Hub-Signature-256": proof, "X-GitHub-Delivery": "guid"}
        one = await client.post(f"{url}/webhooks/gh", content=BODY, headers=headers)
        assert one.json()["session"] == "agent:main:webhook:dm:gh:guid"
        headers = {"X-Hermes-Signature": proof, "X-Delivery-Id": "7"}
        two = await client.post(f"{url}/webhooks/plain", content=BODY, headers=headers)
        assert two.json()["session"] == "agent:main:webhook:dm:plain"
        del headers["X-Delivery-Id"]
        bare = await client.post(f"{url}/webhooks/plain", content=BODY, headers=headers)
        assert bare.status_code == 400


async def test_an_answer_may_go_to_the_home_chat_of_the_moment(tmp_path: Path) -> None:
    homes = Homes()
    async with opened(tmp_path) as store, httpx2.AsyncClient() as client:
        seen = msgspec.structs.replace(store, library=homes)  # type: ignore[arg-type]
        async with listening(
            door_on(seen, tmp_path), tmp_path, ci={**CI, "deliver": "home"}
        ) as url:
            for name, platform in (("none", "webhook"), ("first", "telegram"), ("newer", "sms")):
                headers = signed(body := name.encode()) | delivery(name)
                await client.post(f"{url}/webhooks/ci", content=body, headers=headers)
                assert (await received(store, f"{LANE}:{name}")).address.platform == platform
                chat = Address(platform="sms" if homes.set else "telegram", chat="5")
                homes.set.insert(0, Home(address=chat, at=1.0))


async def test_an_event_that_is_refused_behind_the_door_says_why(tmp_path: Path) -> None:
    async def refuses(_inbound: Inbound) -> Accepted:
        raise Rejected("the message is empty")

    async def is_full(_inbound: Inbound) -> Accepted:
        raise StoreFull("no space is left")

    async with opened(tmp_path) as store, httpx2.AsyncClient() as client:
        for accept, code in ((refuses, 422), (is_full, 503)):
            async with listening(door_on(store, tmp_path, accept=accept), tmp_path, ci=CI) as url:
                answer = await client.post(f"{url}/webhooks/ci", content=BODY, headers=signed())
                assert answer.status_code == code
                assert ("retry-after" in answer.headers) == (code == 503)


async def test_a_port_that_is_taken_is_a_wrong_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = webhook_settings({"port": port, "routes": {"ci": CI}}, {})
        channel = WebhookChannel(settings, memory=tmp_path)
        async with opened(tmp_path) as store:
            with pytest.raises(
                Misconfigured, match=r"platforms\.webhook\.port: port \d+ is in use"
            ):
                await channel.listen(door_on(store, tmp_path))


async def test_an_address_of_another_machine_is_a_wrong_setting(tmp_path: Path) -> None:
    raw = {"host": "192.0.2.1", "port": 0, "trusted_proxies": ["192.0.2.2"], "routes": {"ci": CI}}
    channel = WebhookChannel(webhook_settings(raw, {}), memory=tmp_path)
    async with opened(tmp_path) as store:
        with pytest.raises(Misconfigured, match=r"platforms\.webhook\.host: cannot listen"):
            await channel.listen(door_on(store, tmp_path))


async def test_an_answer_is_stored_and_not_sent(tmp_path: Path) -> None:
    channel = WebhookChannel(webhook_settings({"routes": {"ci": CI}}, {}), memory=tmp_path)
    reply = Reply(
        id="t/0",  # type: ignore[arg-type]
        session=LANE,
        address=Address(platform="webhook", chat="ci"),
        text="done",
    )
    assert channel.manifest.fetched
    assert channel.render("a\n" * 9) == ("a\n" * 9,)
    assert await channel.send(reply, "done", key="t/0.0") == "t/0.0"
