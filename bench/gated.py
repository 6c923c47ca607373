"""The two outsides of the crash matrix, in this process: a model and a Bot API that stop at gates.

A gate is an instant of a turn as it looks from outside: a request that came in, half of an answer
that went out. Whoever arms one is told when it is reached; nothing goes on behind it until then.
"""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.telegram import BotApi
from tests.doubles.telegram_http import Asked, Said, Upload

from bench import wire
from bench.peers.base import PERSON, TOKEN

FINAL = "All of it is finished now and the record is complete"
YES = "Yes I am here"

Json = dict[str, Any]


@dataclass
class Gate:
    """One instant, armed once. Whoever gets there stays there."""

    name: str = ""
    armed: str = ""  # the same, also when it has been passed
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def arm(self, name: str) -> None:
        self.name = self.armed = name
        self.reached.clear()

    async def shuts(self, name: str) -> None:
        """Who comes behind this instant gets no further."""
        if name == self.armed:
            await asyncio.Event().wait()

    async def at(self, name: str, *, after_s: float = 0.0) -> None:
        if name == self.name and not self.reached.is_set():
            await asyncio.sleep(after_s)
            self.reached.set()
            await asyncio.Event().wait()

    def passes(self, name: str) -> None:
        """The same for who must not be held up: bytes that were just handed over are on the way."""
        if name == self.name and not self.reached.is_set():
            self.name = ""
            asyncio.get_running_loop().call_later(0.003, self.reached.set)


@dataclass
class GatedModel:
    """Does what it is told: calls the tool until there is a result, then says that it is done."""

    gate: Gate
    requests: list[Json] = field(default_factory=list)
    port: int = 0

    async def __aenter__(self) -> "GatedModel":
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                at = head.find(b"content-length:")
                size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
                body = await reader.readexactly(size)
                if head.startswith(b"get "):
                    writer.write(wire.framed("application/json", b'{"data":[{"id":"m"}]}'))
                else:
                    await self._answer(json.loads(body), writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side was killed, or it is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, request: Json, writer: asyncio.StreamWriter) -> None:
        if not request.get("tools"):  # a title, a summary: no part of the turn
            writer.write(_whole(request, "A title", None))
            return
        self.requests.append(request)
        call, text = decided(request)
        step = "call" if call else "answer" if text == FINAL else ""
        await self.gate.at(f"{step} asked")
        parts = _parts(request, text, call)
        half = len(parts) // 2
        for part in parts[:half]:
            writer.write(part)
        await writer.drain()
        await self.gate.at(f"{step} half", after_s=0.05)
        for part in parts[half:]:
            writer.write(part)
        await writer.drain()
        self.gate.passes(f"{step} given")


def decided(request: Json) -> tuple[wire.Call | None, str]:
    """What a diligent model does next, from what it reads: the call, or a text."""
    call = wire.call_of(request)
    if call is not None:
        return call, ""
    asked = done = False
    for message in request["messages"]:
        text = wire.text_of(message)
        asked = asked or (message["role"] == "user" and bool(wire.CALL.search(text)))
        if message["role"] == "assistant" and FINAL in text:
            done = True
    if asked and not done:
        return None, FINAL
    return None, wire.said(request) or YES


def _parts(request: Json, text: str, call: wire.Call | None) -> list[bytes]:
    whole = _whole(request, text, call)
    if not request.get("stream"):
        return [whole[: len(whole) // 2], whole[len(whole) // 2 :]]
    head, _, _ = whole.partition(b"\r\n\r\n")
    return [head + b"\r\n\r\n", *wire.pieces(text, call)]


def _whole(request: Json, text: str, call: wire.Call | None) -> bytes:
    return wire.streamed(text, call) if request.get("stream") else wire.plain(text, call)


class GatedBot(BotApi):
    """The Bot API's double for any client: what it does not know is taken without a word."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(token=TOKEN)
        self.gate = gate
        self.polled = asyncio.Event()
        self.sought = ""  # the text whose handing out is an instant

    def write(self, text: str) -> None:
        """The person writes, now."""
        self.say(text, chat=PERSON, user=PERSON, date=int(time.time()), username="ada")

    def shows(self, text: str) -> int:
        """In how many messages of the chat this stands."""
        return sum(text in one for one in self.texts(PERSON))

    async def _answer(self, asked: Asked) -> Said:
        fields, _ = asked.form() if asked.path.startswith("/bot") else ({}, {})
        if asked.path.endswith("/getUpdates") and float(fields.get("timeout", 0)) > 0:
            self.polled.set()
        said = await super()._answer(asked)
        handed = asked.path.endswith("/getUpdates") and self.sought.encode() in said.body
        if self.sought and handed:
            self.gate.passes("handed out")
        if FINAL in fields.get("text", "") and b'"ok": true' in said.body:
            await self.gate.at("shown")
        return said

    async def _do(self, method: str, fields: dict[str, str], files: dict[str, Upload]) -> Any:
        if FINAL in fields.get("text", "") and method in ("sendMessage", "editMessageText"):
            await self.gate.shuts("answer given")
            await self.gate.at("delivering")
        return await super()._do(method, fields, files)

    def _settle(self, method: str, fields: dict[str, str]) -> Any:
        match method:
            case "getWebhookInfo":
                return {"url": "", "has_custom_certificate": False, "pending_update_count": 0}
            case "getMyCommands":
                return []
            case "getChat":
                return {"id": PERSON, "type": "private", "first_name": "Ada"}
            case "setMyCommands" | "deleteMyCommands" | "setMessageReaction" | "setMyDescription":
                return True
            case "setMyShortDescription" | "setMyName" | "setChatMenuButton" | "close" | "logOut":
                return True
        return super()._settle(method, fields)
