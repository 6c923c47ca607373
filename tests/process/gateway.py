"""The real gateway as a child process: started, used over HTTP, killed at any instant."""

import asyncio
import json
import os
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import httpx2

from hermes.testing.model import Model

SRC = Path(__file__).parents[2] / "src"
KEY = "a-key-for-tests"
READY_S = 120.0
END_S = 120.0
TLS = ssl.create_default_context()  # created once: one for each client would cost 40 ms


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def client(limit_s: float) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=limit_s, verify=TLS)


@dataclass
class Answered:
    """The answer to one message, as an HTTP client received it."""

    status: int
    body: Any
    headers: dict[str, str]

    @property
    def text(self) -> str:
        return str(self.body["choices"][0]["message"]["content"])

    @property
    def turn(self) -> str:
        return self.headers["x-hermes-turn-id"]


@dataclass
class Home:
    """A home, and the commands that run on it. `settings` is the content of config.yaml."""

    folder: Path
    settings: dict[str, Any]
    port: int = field(default_factory=free_port)
    extra: dict[str, str] = field(default_factory=dict)  # additional environment variables

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        ours = {"HOME": str(self.folder), "HERMES_HOME": str(self.home), "PYTHONPATH": str(SRC)}
        return {**kept, **ours, "PYTHONWARNINGS": "error", **self.extra}

    def configure(self, **sections: Any) -> None:
        """Change these keys of config.yaml; the others stay."""
        for name, section in sections.items():
            self.settings[name] = {**self.settings.get(name, {}), **section}
        self.home.mkdir(mode=0o700, exist_ok=True)
        api = {"enabled": True, "port": self.port, "key": KEY}
        platforms = {"api": api, **self.settings.get("platforms", {})}
        whole = {**self.settings, "platforms": platforms}
        (self.home / "config.yaml").write_text(json.dumps(whole), encoding="utf-8")

    def output(self) -> str:
        log = self.home / "logs" / "hermes.log"
        text = log.read_text(encoding="utf-8")[-4000:] if log.exists() else ""
        return (self.folder / "gateway.out").read_text(encoding="utf-8")[-4000:] + text

    def started_at(self) -> float:
        try:
            note = json.loads((self.home / "gateway.lock").read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return 0.0
        return float(note["started_at"])

    async def hermes(self, *words: str) -> Any:
        """Run another command on the same home; return its JSON document if it prints one."""
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "hermes", *words),
            env=self.environ,
            cwd=self.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
        )
        out, err = await asyncio.wait_for(child.communicate(), 60.0)
        text = out.decode()
        assert "--json" not in words or text, err.decode()
        return json.loads(text) if "--json" in words else text

    async def session(self, name: str = "main") -> Any:
        """Return the session's row of `hermes sessions list`."""
        rows = await self.hermes("sessions", "list", "--json")
        return next(row for row in rows if row["key"] == f"agent:main:api:dm:{name}")


@dataclass
class GatewayProcess(Home):
    """Run `hermes gateway run` on the home."""

    child: asyncio.subprocess.Process | None = None
    boots: int = 0

    @property
    def pid(self) -> int:
        assert self.child is not None
        return self.child.pid

    async def start(self, *, ready: bool = True, out: BinaryIO | None = None) -> None:
        self.configure()
        self.boots += 1
        out = out or (self.folder / "gateway.out").open("ab")
        command = [sys.executable, "-P", "-m", "hermes", "gateway", "run"]
        self.child = await asyncio.create_subprocess_exec(
            *command, env=self.environ, cwd=self.folder, stdout=out, stderr=out, stdin=-3
        )
        out.close()
        if ready:
            await self.ready()

    async def ready(self) -> None:
        """Wait until /health reports ready; fail with the output if the process ends instead."""
        assert self.child is not None
        deadline = asyncio.get_running_loop().time() + READY_S
        while asyncio.get_running_loop().time() < deadline:
            assert self.child.returncode is None, self.output()
            if await self.health() == 200:
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"never ready: {self.output()}")

    async def health(self) -> int:
        """Return the HTTP status of /health; 0 if there is no answer."""
        try:
            async with client(5.0) as http:
                return (await http.get(f"http://127.0.0.1:{self.port}/health")).status_code
        except httpx2.TransportError:
            return 0

    async def until_draining(self) -> None:
        async def draining() -> bool:
            return await self.health() != 200

        await self.until(draining)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def kill(self) -> None:
        """Send SIGKILL now."""
        self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return await self.ended()

    async def ended(self) -> int:
        assert self.child is not None
        return await asyncio.wait_for(self.child.wait(), END_S)

    async def restarted(self, before: float) -> None:
        """Wait after SIGUSR1 until the same process runs a new program and is ready."""

        async def anew() -> bool:
            return self.started_at() > before and await self.health() == 200

        await self.until(anew, READY_S)

    async def say(
        self, text: str, session: str = "main", *, key: str = "", limit_s: float = 120.0
    ) -> Answered:
        headers = {"authorization": f"Bearer {KEY}", "x-hermes-session-id": session}
        if key:
            headers["idempotency-key"] = key
        body = {"model": "hermes", "messages": [{"role": "user", "content": text}]}
        async with client(limit_s) as http:
            url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
            got = await http.post(url, json=body, headers=headers)
            return Answered(got.status_code, got.json(), dict(got.headers))

    async def get(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {KEY}"}
        async with client(60.0) as http:
            got = await http.get(f"http://127.0.0.1:{self.port}{path}", headers=headers)
            got.raise_for_status()
            return got.json()

    async def post(self, path: str, **body: Any) -> Any:
        headers = {"authorization": f"Bearer {KEY}"}
        async with client(60.0) as http:
            url = f"http://127.0.0.1:{self.port}{path}"
            got = await http.post(url, headers=headers, json=body)
            got.raise_for_status()
            return got.json()

    async def until(self, holds: Callable[[], Awaitable[bool]], limit_s: float = 90.0) -> None:
        """Poll until the condition holds, which another process makes true."""
        deadline = asyncio.get_running_loop().time() + limit_s
        while not await holds():
            assert asyncio.get_running_loop().time() < deadline, self.output()
            await asyncio.sleep(0.03)


@asynccontextmanager
async def gateway(folder: Path, model: Model, **settings: Any) -> AsyncIterator[GatewayProcess]:
    """Yield a gateway that is not started yet; kill what is left of it at the end."""
    section = {"provider": "custom", "base_url": model.url, "name": "double", "api_key": "none"}
    made = GatewayProcess(folder, {"model": section, **settings})
    try:
        yield made
    finally:
        if made.child is not None and made.child.returncode is None:
            await made.kill()
