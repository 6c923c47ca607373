"""A restart with invalid settings changes nothing, whatever is invalid and however it is asked.

One gateway serves all of these tests: it is the same process from the first to the last.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.process.gateway import KEY, GatewayProcess

MODEL = {"provider": "custom", "base_url": "http://127.0.0.1:9/v1", "name": "m", "api_key": "none"}
HOOK = {"routes": {"build": {"prompt": "{body}"}}}
DECIDED_S = 90.0


@dataclass
class Standing(GatewayProcess):
    """A gateway whose process outlives the event loop of a test."""

    process: "subprocess.Popen[bytes] | None" = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def config(self) -> Path:
        return self.home / "config.yaml"

    def note(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.home / "gateway.lock").read_bytes())
        return found

    def write(self, **changed: Any) -> None:
        """Write config.yaml with these sections in place of the valid ones; None removes a
        section."""
        api = {"enabled": True, "port": self.port, "key": KEY}
        whole = {"model": MODEL, "platforms": {"api": api}, **changed}
        kept = {name: section for name, section in whole.items() if section is not None}
        self.config.write_text(json.dumps(kept), encoding="utf-8")

    def api(self, **changed: Any) -> dict[str, Any]:
        return {"api": {"enabled": True, "port": self.port, "key": KEY, **changed}}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    made = Standing(tmp_path_factory.mktemp("restart"), {})
    made.home.mkdir(mode=0o700)
    made.write()
    with (made.folder / "gateway.out").open("ab") as out:
        made.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hermes", "gateway", "run"],
            env=made.environ,
            cwd=made.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    deadline = time.monotonic() + DECIDED_S
    while "is ready" not in made.output():
        assert made.alive, made.output()
        assert time.monotonic() < deadline, made.output()
        time.sleep(0.05)
    yield made
    if made.alive:
        os.kill(made.pid, signal.SIGKILL)
        made.process.wait()


def _bad_yaml(here: Standing) -> None:
    here.config.write_text("model: [", encoding="utf-8")


def _unknown_setting(here: Standing) -> None:
    here.write(modell=MODEL)


def _wrong_type(here: Standing) -> None:
    here.write(gateway={"drain_timeout_s": "long"})


def _no_model(here: Standing) -> None:
    here.write(model=None)


def _unknown_provider(here: Standing) -> None:
    here.write(model={**MODEL, "provider": "opnai"})


def _unknown_platform(here: Standing) -> None:
    here.write(platforms={**here.api(), "telegran": {"enabled": True}})


def _short_key(here: Standing) -> None:
    here.write(platforms=here.api(key="short"))


def _hook_without_secret(here: Standing) -> None:
    here.write(platforms={**here.api(), "webhook": HOOK})


def _bot_without_token(here: Standing) -> None:
    here.write(platforms={**here.api(), "telegram": {"enabled": True}})


def _postgres_away(here: Standing) -> None:
    here.write(store={"url": "postgresql://hermes:pw@127.0.0.1:9/hermes"})


@contextmanager
def _port_in_use(here: Standing) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        here.write(platforms=here.api(port=other.getsockname()[1]))
        yield


WRONG: dict[str, tuple[Callable[[Standing], Any], str]] = {
    "bad YAML": (_bad_yaml, "config.yaml"),
    "an unknown setting": (_unknown_setting, "modell"),
    "a wrong type": (_wrong_type, "gateway.drain_timeout_s"),
    "no model": (_no_model, "model.provider: no model is set up"),
    "an unknown provider": (_unknown_provider, "Did you mean openai"),
    "an unknown platform": (_unknown_platform, "platforms.telegran"),
    "a short key": (_short_key, "platforms.api.key"),
    "a webhook without a secret": (_hook_without_secret, "routes.build.secret"),
    "a bot without a token": (_bot_without_token, "platforms.telegram.token"),
    "PostgreSQL away": (_postgres_away, "PostgreSQL is not available right now"),
    "a port in use": (_port_in_use, "is in use by another program"),
}


async def _by_signal(here: Standing) -> str:
    asked_at = time.monotonic()
    here.signal(signal.SIGUSR1)

    async def decided() -> bool:
        return bool((here.note().get("checked") or {"at": 0.0})["at"] > asked_at)

    await here.until(decided, DECIDED_S)
    return str(here.note()["checked"]["problem"])


async def _by_chat(here: Standing) -> str:
    got = await here.say("/restart")
    # The key is read for each request: a short one takes effect at once and lets no client in.
    by_socket = got.status == 401
    told = str(await here.hermes("chat", "-q", "/restart")) if by_socket else got.text
    assert told.startswith("I did not restart")
    return told


async def _by_command(here: Standing) -> str:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "hermes", "gateway", "restart"),
        env=here.environ,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await asyncio.wait_for(child.communicate(), DECIDED_S)
    assert child.returncode == 78, told
    return told.decode()


WAYS = {"SIGUSR1": _by_signal, "/restart": _by_chat, "gateway restart": _by_command}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong", WRONG)
async def test_a_restart_with_wrong_settings_touches_nothing(
    here: Standing, wrong: str, way: str
) -> None:
    before = here.note()
    change, expected = WRONG[wrong]
    made = change(here)
    if made is None:
        told = await WAYS[way](here)
    else:
        with made:
            told = await WAYS[way](here)
    assert expected in told
    assert here.alive
    assert here.note()["started_at"] == before["started_at"], "the same program"
    assert await here.health() == 200


async def _asked(way: Callable[[], Awaitable[object]], here: Standing) -> None:
    before = here.started_at()
    await way()
    await here.restarted(before)


async def test_right_settings_restart_the_same_gateway_on_its_own_port(here: Standing) -> None:
    here.write(platforms=here.api(host="localhost"))

    async def command() -> str:
        return str(await here.hermes("gateway", "restart"))

    pid = here.pid
    await _asked(command, here)
    here.write()

    async def chat() -> str:
        return (await here.say("/restart")).text

    await _asked(chat, here)
    assert here.note()["pid"] == pid
    assert here.alive
