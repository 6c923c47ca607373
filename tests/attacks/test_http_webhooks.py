"""WEB-7, 8, 11: events that were forged, repeated, swollen or slow, sent to a real gateway."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from hermes.channels.webhook.server import BODY_BYTES_MAX
from hermes.channels.webhook.translate import signature
from hermes.httpd.auth_backoff import FAILURES_MAX
from hermes.testing.model import Model
from tests.attacks.wire import Got, asked, parsed, request, sent
from tests.process.gateway import KEY, GatewayProcess, free_port, gateway

SECRET = "correct-horse"
BODY = b'{"ref": "main", "by": {"name": "Ada"}}'


def open_hook(here: GatewayProcess, **more: Any) -> int:
    port = free_port()
    routes = {"ci": {"secret": SECRET, "prompt": "{by.name} pushed {ref}", **more}}
    here.configure(platforms={"webhook": {"port": port, "routes": routes}})
    return port


def proof(body: bytes = BODY, *, secret: str = SECRET, ago: float = 0.0) -> dict[str, str]:
    stamp = str(int(time.time() - ago))
    return {
        "x_hermes_timestamp": stamp,
        "x_hermes_signature": signature(secret, f"{stamp}.".encode() + body),
    }


async def post(port: int, headers: dict[str, str], body: bytes = BODY, route: str = "ci") -> Got:
    given = {"authorization": "", **headers}
    return await asked(port, "POST", f"/webhooks/{route}", body=body, **given)


async def events(here: GatewayProcess) -> int:
    rows = await here.get("/v1/sessions")
    return sum(":webhook:" in row["key"] for row in rows)


async def test_web_11_what_is_not_signed_byte_for_byte_is_refused(tmp_path: Path) -> None:
    shuffled = json.dumps({"by": {"name": "Ada"}, "ref": "main"}).encode()
    async with Model().up() as model, gateway(tmp_path, model) as here:
        port = open_hook(here)
        await here.start()
        attacks: list[tuple[dict[str, str], bytes]] = [
            ({}, BODY),
            (proof(), shuffled),
            (proof(), BODY + b" "),
            (proof(secret="wrong-secret"), BODY),
            (proof(secret=""), BODY),
            (proof(ago=301), BODY),
            (proof(ago=-320), BODY),
            ({**proof(), "x_hermes_timestamp": str(int(time.time()) + 1)}, BODY),
            ({"authorization": f"Bearer {SECRET}"}, BODY),
        ]
        for headers, body in attacks:
            assert (await post(port, headers, body)).status == 401, headers
        assert (await post(port, proof(), route="none")).status == 404
        for _ in range(FAILURES_MAX):
            last = await post(port, proof(secret="wrong-secret"))
        assert last.status == 429
        assert last.headers["retry-after"]
        assert await events(here) == 0
        assert (await post(port, proof())).status == 202, "a good one is always heard"
        assert SECRET not in here.output()


async def test_web_11_a_caught_event_is_worth_nothing_also_after_a_restart(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        port = open_hook(here)
        await here.start()
        caught = proof()
        first = {**caught, "x_hermes_delivery": "one"}
        assert (await post(port, first)).status == 202
        for _ in range(2):
            again = await post(port, first)
            assert (again.status, again.json()["status"]) == (200, "duplicate")
            for other in ({"x_hermes_delivery": "two"}, {}):
                assert (await post(port, {**caught, **other})).status == 409
            assert await events(here) == 1
            await here.kill()
            await here.start()
        fresh = {**proof(ago=200), "x_hermes_delivery": "two"}
        assert (await post(port, fresh)).status == 202


async def test_web_11_an_event_that_is_too_large_too_slow_or_too_deep_costs_little(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        port = open_hook(here)
        await here.start()
        big = b"a" * (BODY_BYTES_MAX + 1)
        assert (await post(port, proof(big), big)).status == 413
        raw = request(
            *("POST", "/webhooks/ci"), host=f"127.0.0.1:{port}", content_length=str(10**9)
        )
        assert (await sent(port, raw + big)).status in (0, 413)
        for text in ("[" * 200_000, '{"ref":' * 100_000, "[" * 400_000 + "]" * 400_000):
            body = text.encode()
            assert (await post(port, proof(body), body)).status == 202, "there is no such field"
        assert (await asked(port, target="/health", authorization="")).status == 200
        assert "Traceback" not in here.output()


@pytest.mark.slow
async def test_web_11_a_body_that_dribbles_in_is_not_waited_for(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        port = open_hook(here)
        await here.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        more = {"authorization": "", "content_length": "1000"}
        writer.write(request("POST", "/webhooks/ci", host=f"127.0.0.1:{port}", **more))
        answer = asyncio.create_task(reader.read())
        while not answer.done():
            writer.write(b"x")
            await asyncio.wait({answer}, timeout=0.5)
        assert parsed(await answer).status == 408
        writer.close()


async def test_web_02_and_web_03_webhooks_know_their_names_and_serve_no_page(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        port = open_hook(here)
        await here.start()
        for host in ("evil.test", f"127.0.0.1.evil.test:{port}", f"localhost.:{port}", "x:1"):
            got = await asked(port, "POST", "/webhooks/ci", host=host, body=BODY, **proof())
            assert got.status == 421
            assert "platforms.webhook.hosts" in got.json()["why"]
        for origin in ("null", "https://evil.test", "file://"):
            assert (await post(port, {**proof(), "origin": origin})).status == 403
        assert (await post(port, {**proof(), "sec_fetch_site": "cross-site"})).status == 403
        assert await events(here) == 0


async def test_web_07_the_secret_of_a_route_gives_no_orders(tmp_path: Path) -> None:
    """Scopes are ours: who may send events may not read, stop or approve anything."""
    async with Model().up() as model, gateway(tmp_path, model) as here:
        port = open_hook(here, prompt="{body}")
        await here.start()
        for path in ("/v1/models", "/v1/sessions", "/v1/approvals", "/metrics"):
            got = await asked(here.port, target=path, authorization=f"Bearer {SECRET}")
            assert got.status == 401
            assert (await asked(port, target=path)).status == 404, "that server has none of it"
        assert (await post(port, proof(secret=KEY))).status == 401
        for n, order in enumerate((b"/approve", b"/stop", b"/new", b"/model x")):
            headers = {**proof(order), "x_hermes_delivery": f"order-{n}"}
            session = (await post(port, headers, order)).json()["session"]

            async def heard(session: str = session) -> bool:
                lines = await here.get(f"/v1/sessions/{session}/messages")
                return [line["role"] for line in lines] == ["user", "assistant"]

            await here.until(heard)
        assert await events(here) == 4


async def test_web_08_a_new_secret_of_a_route_counts_at_once(tmp_path: Path) -> None:
    other = "another-horse"
    async with Model().up() as model, gateway(tmp_path, model) as here:
        port = open_hook(here)
        await here.start()
        assert (await post(port, proof())).status == 202
        platform = here.settings["platforms"]["webhook"]
        platform["routes"]["ci"]["secret"] = other
        here.configure()

        async def changed() -> bool:
            return (await post(port, proof(secret=other))).status in (200, 202)

        await here.until(changed)
        assert (await post(port, proof(b"x"), b"x")).status in (401, 429)
        platform["routes"]["ci"]["secret"] = ""
        here.configure()

        async def gone() -> bool:
            return (await post(port, proof(secret=other))).status in (401, 429)

        await here.until(gone)
        assert (await post(port, proof(secret=""))).status in (401, 429)
