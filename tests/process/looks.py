"""Observe a gateway from outside: rows, turns, running commands, effects."""

import contextlib
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.process.gateway import KEY, Answered, GatewayProcess, client

NOTE = "Note by Hermes"
PAGE = 2_000  # rows
COUNTED = "effects"  # a file in the workspace with one line for each effect


async def tried(
    here: GatewayProcess, text: str, session: str = "main", *, key: str = ""
) -> Answered | None:
    """Send a message; return None if the connection was cut."""
    try:
        return await here.say(text, session, key=key)
    except httpx2.TransportError:
        return None


async def rows(here: GatewayProcess, session: str = "main") -> list[Any]:
    """Return the stored transcript, page by page."""
    found: list[Any] = []
    while True:
        path = f"/v1/sessions/{session}/messages?limit={PAGE}&after={len(found)}"
        page = await here.get(path)
        found += page
        if len(page) < PAGE:
            return found


async def said(here: GatewayProcess, session: str = "main") -> list[str]:
    """Return everything that the transcript attributes to a person."""
    return [row["text"] for row in await rows(here, session) if row["role"] == "user"]


async def session_row(here: GatewayProcess, session: str = "main") -> Any:
    return await here.get(f"/v1/sessions/{session}")


async def waiting(here: GatewayProcess, count: int, session: str = "main") -> None:
    """Wait until this many messages are in the session's queue."""

    async def wait() -> bool:
        return bool((await session_row(here, session))["waiting"] == count)

    await here.until(wait)


async def idle(here: GatewayProcess, session: str = "main") -> None:
    async def rests() -> bool:
        row = await session_row(here, session)
        return bool(row["phase"] == "idle" and row["waiting"] == 0)

    await here.until(rests)


def effects(here: GatewayProcess) -> list[str]:
    file = here.home / "workspace" / COUNTED
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def effect(word: str) -> str:
    """Return a command whose executions can be counted."""
    return f"echo {word} >> {COUNTED}"


def gate(here: GatewayProcess, name: str) -> Path:
    """Return the file that a command of `until_gate` waits for; touch it to let the command
    continue."""
    return here.home / "workspace" / f"go-{name}"


UNASKED = {"approvals": {"mode": "allow"}}  # for commands that the policy cannot judge


def until_gate(name: str) -> str:
    return f"until [ -e go-{name} ]; do sleep 0.02; done"


async def running_call(here: GatewayProcess, words: str) -> Path:
    """Wait for a running command that contains these words; return its folder."""
    found: list[Path] = []

    async def begun() -> bool:
        for meta in here.home.glob("calls/*/meta"):
            command = json.loads(meta.read_text(encoding="utf-8"))["launch"]["command"]
            if _bare(words) in _bare(command) and _pid(meta.parent):
                found.append(meta.parent)
        return bool(found)

    await here.until(begun)
    return found[0]


def _bare(command: str) -> str:
    """Return the command without quotes and blanks: a safe command is rewritten before it runs."""
    return re.sub(r"[\s'\"\\\\;]", "", command)


def kill_command(call: Path) -> None:
    """Kill the command and its wrapper, which leaves neither a process nor an exit status."""
    assert end_command(call)
    assert not (call / "status").exists()


def end_command(call: Path) -> bool:
    """End the command. Return False if it was over or had not started."""
    pid = _pid(call)
    with contextlib.suppress(ProcessLookupError):
        if pid:
            os.killpg(pid, signal.SIGKILL)
            return True
    return False


def _pid(call: Path) -> int:
    begun = call / "begun"
    lines = begun.read_text(encoding="utf-8").split("\n") if begun.exists() else []
    return int(lines[0]) if len(lines) == 4 else 0


async def steps(here: GatewayProcess, turn: str) -> list[Any]:
    """Return the tool calls of a turn."""
    shown = await here.get(f"/v1/turns/{turn}")
    return [step for step in shown["steps"] if step["kind"] == "tool"]


def _request(text: str, session: str, key: str) -> tuple[dict[str, str], dict[str, Any]]:
    headers = {
        "authorization": f"Bearer {KEY}",
        "x-hermes-session-id": session,
        "idempotency-key": key,
    }
    return headers, {"model": "hermes", "messages": [{"role": "user", "content": text}]}


async def raw(here: GatewayProcess, text: str, session: str, *, key: str) -> bytes:
    """Return the body of the answer, byte for byte."""
    headers, body = _request(text, session, key)
    async with client(30.0) as http:
        url = f"http://127.0.0.1:{here.port}/v1/chat/completions"
        return (await http.post(url, json=body, headers=headers)).content


@asynccontextmanager
async def streamed(
    here: GatewayProcess, text: str, session: str = "main"
) -> AsyncIterator[AsyncIterator[str]]:
    """Yield the words of the answer as they arrive."""
    headers, body = _request(text, session, text)
    url = f"http://127.0.0.1:{here.port}/v1/chat/completions"
    async with client(30.0) as http:
        whole = {**body, "stream": True}
        async with http.stream("POST", url, json=whole, headers=headers) as got:
            yield _words(got.aiter_lines())


async def _words(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        if not line.startswith("data: {"):
            continue
        chunk = json.loads(line.removeprefix("data: "))
        for choice in chunk.get("choices", ()):
            if choice["delta"].get("content"):
                yield choice["delta"]["content"]


def request_bytes(here: GatewayProcess, text: str, session: str, *, key: str) -> bytes:
    """Return the same request as raw bytes, for a client that does not read the answer."""
    headers, body = _request(text, session, key)
    content = json.dumps(body).encode()
    headers |= {"host": f"127.0.0.1:{here.port}", "content-length": str(len(content))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /v1/chat/completions HTTP/1.1\r\n{head}\r\n".encode() + content
