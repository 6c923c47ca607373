"""WEB-5, 8, 14: where a key may be, how long it counts, and whom it is shown to."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.testing.model import Asked, Model, Says, plain
from tests.attacks.wire import asked
from tests.process.gateway import KEY, GatewayProcess, client, gateway
from tests.unit.providers.servers import Server, head

NEW = "another-key-for-tests"
CHAT = "/v1/chat/completions"


def put(path: Path, text: str) -> None:
    """Replace a file atomically, as a careful program does."""
    half = path.with_name("half")
    half.write_text(text, encoding="utf-8")
    half.chmod(0o600)
    half.replace(path)


def keep(here: GatewayProcess, key: str, place: str) -> None:
    """Store the key in config.yaml or in .env."""
    api: dict[str, Any] = {"enabled": True, "port": here.port}
    if place == "config.yaml":
        here.settings["platforms"] = {"api": {**api, "key": key}}
        put(here.home / "config.yaml", json.dumps(here.settings))
    else:
        here.settings["platforms"] = {"api": api}
        put(here.home / ".env", f"HERMES_API_KEY={key}\n")


@asynccontextmanager
async def stream(
    here: GatewayProcess, method: str, path: str, key: str, **more: Any
) -> AsyncIterator[httpx2.Response]:
    headers = {"authorization": f"Bearer {key}", "idempotency-key": "k"}
    url = f"http://127.0.0.1:{here.port}{path}"
    async with client(60.0) as http, http.stream(method, url, headers=headers, **more) as response:
        assert response.status_code == 200
        yield response


async def status(here: GatewayProcess, key: str) -> int:
    return (await asked(here.port, authorization=f"Bearer {key}")).status


def kept_in(folder: Path, secret: str) -> list[str]:
    """Return the files that contain the secret."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "hermes.log" for path in files)
    return [path.name for path in files if secret.encode() in path.read_bytes()]


async def test_web_05_a_key_in_a_url_opens_nothing_and_is_written_nowhere(tmp_path: Path) -> None:
    guess = "sk-wrong-but-still-somebodys-key"
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.extra["HERMES_LOG"] = "debug"
        await here.start()
        for name in ("key", "api_key", "access_token", "token", "authorization"):
            for text in (KEY, guess, f"Bearer%20{KEY}"):
                target = f"/v1/models?{name}={text}"
                got = await asked(here.port, target=target, authorization="")
                assert got.status == 401
                assert KEY.encode() not in got.body
        for target in (f"/v1/{KEY}", f"/{guess}?x={guess}", f"/v1/sessions/{KEY}"):
            assert (
                await asked(here.port, target=target, referer=f"http://x/?k={KEY}")
            ).status == 404
        assert (await asked(here.port, authorization=f"Bearer {guess}")).status == 401
        assert (await asked(here.port, authorization=f"Basic {guess}")).status == 401
        assert (await asked(here.port, host=guess)).status == 421
        await here.stop()
    assert kept_in(tmp_path, KEY) == ["config.yaml"]
    assert kept_in(tmp_path, guess) == []


@pytest.mark.parametrize("place", ["config.yaml", ".env"])
async def test_web_08_and_sec_07_a_new_key_counts_at_once_and_ends_what_the_old_one_opened(
    tmp_path: Path, place: str
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        async def rule(asked: Asked) -> Says:
            if "wait" in asked.said:
                await model.hold("wait")
            return plain(asked)

        model.rule = rule
        here.configure()
        keep(here, KEY, place)
        await here.start()
        said = {"messages": [{"role": "user", "content": "wait"}]}
        waiting = asyncio.create_task(
            asked(here.port, "POST", CHAT, body=json.dumps(said).encode(), idempotency_key="w")
        )
        async with (
            stream(here, "GET", "/v1/events", KEY) as events,
            stream(here, "POST", CHAT, KEY, json={**said, "stream": True}) as answer,
        ):
            await model.reached("wait")
            keep(here, NEW, place)
            told, written = await asyncio.gather(events.aread(), answer.aread())
        assert b"invalid_api_key" in told
        assert b"invalid_api_key" in written
        assert b"[DONE]" not in written
        assert (await waiting).status == 401
        assert (await status(here, KEY), await status(here, NEW)) == (401, 200)
        model.open("wait")
        headers = {"authorization": f"Bearer {NEW}", "idempotency_key": "k"}
        again = await asked(here.port, "POST", CHAT, body=json.dumps(said).encode(), **headers)
        assert again.status == 200, "the turn went on"


async def test_web_08_a_key_that_is_taken_away_lets_nobody_in(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.configure()
        keep(here, KEY, ".env")
        await here.start()
        assert await status(here, KEY) == 200
        (here.home / ".env").write_text("HERMES_API_KEY='half of a li", encoding="utf-8")

        async def gone(key: str = KEY) -> bool:
            return await status(here, key) == 401

        for text in ("", "HERMES_API_KEY=\n", "HERMES_API_KEY=short\n"):
            put(here.home / ".env", text)
            await here.until(gone)
            assert (await asked(here.port, authorization="Bearer short")).status == 401
            assert (await asked(here.port, authorization="Bearer ")).status == 401
        put(here.home / ".env", f"HERMES_API_KEY={NEW}\n")

        async def back() -> bool:
            return await status(here, NEW) == 200

        await here.until(back)
        (here.home / "config.yaml").write_text("half: [a fi", encoding="utf-8")

        async def noticed() -> bool:
            await status(here, NEW)
            return "cannot be read" in here.output()

        await here.until(noticed)
        assert await status(here, NEW) == 200, "a file that cannot be read changes nothing"


async def test_web_14_a_redirect_of_the_model_server_gets_no_key(tmp_path: Path) -> None:
    secret = "sk-for-this-origin-only"
    path = "/v1/chat/completions"
    async with Model().up() as unused, Server([[head(content_length="2") + b"{}"]]) as other:
        away = [
            f"http://localhost:{other.port}{path}",
            f"http://127.0.0.1:{other.port}{path}",
            f"//127.0.0.1:{other.port}{path}",
            f"https://127.0.0.1:{other.port}{path}",
            f"http://127.0.0.1.nip.test:{other.port}{path}",
        ]
        statuses = (301, 302, 303, 307, 308)
        plays = [
            [head(status, location=target, content_length="0")]
            for status in statuses
            for target in away
        ]
        async with Server(plays) as first, gateway(tmp_path, unused) as here:
            base = f"http://127.0.0.1:{first.port}/v1"
            here.configure(model={"base_url": base, "api_key": secret})
            await here.start()
            for _ in plays:
                assert (await here.say("hi")).status == 502
            assert len(first.taken) == len(plays)
            assert all(t.headers["authorization"] == f"bearer {secret}" for t in first.taken)
            assert secret not in here.output()
        shown = [taken for taken in other.taken if "authorization" in taken.headers]
        assert shown == []
        assert not any(taken.line.startswith("POST") for taken in other.taken)
