"""A made-up platform on a real socket: pigeons that fly to a loft. It keeps its whole history.

It does what Telegram does not: it knows idempotency keys, for as long as it is told to, and keeps
no position for its readers. Faults are injected by the path of a request.
"""

import asyncio
import base64
import json
import re
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

from tests.doubles.telegram_http import Asked, Cut, HttpServer, Said

RING = "ring-north"
FOREVER_S = 3600.0
Kind = Literal["flood", "error", "hang", "cut", "lost"]


@dataclass
class Bird:
    """One message, of a person or of ours."""

    number: int
    chat: str
    sender: str
    text: str
    at: float
    key: str = ""
    file: str = ""
    buttons: list[list[str]] = field(default_factory=list)
    press: str = ""


@dataclass
class LoftFault:
    path: str
    kind: Kind
    times: int = 1
    wait_s: float = 3.0


class Loft:
    """All birds, in their order."""

    def __init__(self, *, ring: str = RING, key_s: float = FOREVER_S) -> None:
        self.ring, self.key_s = ring, key_s
        self.birds: list[Bird] = []
        self.faults: list[LoftFault] = []
        self.calls: list[str] = []
        self.read_to = 0  # the reader asked for what comes behind this bird
        self.repeated = 0  # from here on birds are handed out once more
        self._bell = asyncio.Event()
        self.http = HttpServer(self._answer)

    async def __aenter__(self) -> "Loft":
        await self.http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.http.__aexit__(kind, error, trace)

    def say(self, text: str, *, chat: str = "7", at: float = 0.0, press: str = "") -> Bird:
        """Add a person's message; `press` makes it a pressed button instead."""
        return self._add(chat, chat, text, at=at or time.time(), press=press)

    def reread(self, number: int) -> None:
        """Hand a bird out again, as a platform does that doubts that it arrived."""
        self.read_to, self.repeated = number - 1, number
        self._bell.set()

    def texts(self, chat: str = "7") -> list[str]:
        """Return what the chat shows of ours, files by their names."""
        return [
            f"[{bird.file}] {bird.text}".strip() if bird.file else bird.text
            for bird in self.ours(chat)
        ]

    def ours(self, chat: str = "7") -> list[Bird]:
        return [bird for bird in self.birds if bird.sender == "us" and bird.chat == chat]

    def pinged(self, chat: str = "7") -> list[str]:
        """Return whom our messages notify."""
        return [name for text in self.texts(chat) for name in re.findall(r"@\w+", text)]

    def fault(self, path: str, kind: Kind, **more: Any) -> None:
        self.faults.append(LoftFault(path, kind, **more))

    def _add(self, chat: str, sender: str, text: str, **more: Any) -> Bird:
        bird = Bird(len(self.birds) + 1, chat, sender, text, more.pop("at", time.time()), **more)
        self.birds.append(bird)
        self._bell.set()
        return bird

    async def _answer(self, asked: Asked) -> Said:
        self.calls.append(asked.path)
        if asked.headers.get("authorization") != f"Ring {self.ring}":
            return _said({"why": "there is no such ring"}, 401)
        fault = next((each for each in self.faults if each.path == asked.path), None)
        if fault is not None:
            fault.times -= 1
            if fault.times <= 0:
                self.faults.remove(fault)
            match fault.kind:
                case "flood":
                    return _said({"wait": fault.wait_s}, 429)
                case "error":
                    return _said({"why": "the loft is on fire"}, 500)
                case "hang":
                    await asyncio.sleep(FOREVER_S)
                case "cut":
                    raise Cut
        answer = await self._do(asked)
        if fault is not None and fault.kind == "lost":
            raise Cut
        return answer

    async def _do(self, asked: Asked) -> Said:
        given = json.loads(asked.body) if asked.body else {}
        match asked.path:
            case "/whoami":
                return _said({"name": "Martha"})
            case "/news":
                after, wait_s = int(asked.query["after"]), float(asked.query["wait"])
                if self.repeated:
                    after, self.repeated = self.repeated - 1, 0
                else:
                    self.read_to = max(self.read_to, after)
                return _said({"birds": await self._news(after, wait_s)})
            case "/send":
                return _said({"number": self._sent(given).number})
            case "/chat":
                return _said({"birds": [vars_of(bird) for bird in self.ours(asked.query["chat"])]})
        return _said({"why": "there is no such door"}, 404)

    async def _news(self, after: int, wait_s: float) -> list[dict[str, Any]]:
        until = asyncio.get_running_loop().time() + wait_s
        while True:
            found = [b for b in self.birds if b.number > after and b.sender != "us"]
            left = until - asyncio.get_running_loop().time()
            if self.repeated:
                return []
            if found or left <= 0:
                return [vars_of(bird) for bird in found[:20]]
            self._bell.clear()
            try:
                await asyncio.wait_for(self._bell.wait(), left)
            except TimeoutError:
                return []

    def _sent(self, given: dict[str, Any]) -> Bird:
        """The same key again is the same bird, for as long as keys are remembered."""
        now = time.time()
        for bird in self.birds:
            if bird.key == given["key"] and now - bird.at < self.key_s:
                return bird
        file = given.get("file", "")
        base64.b64decode(given.get("content", ""), validate=True)
        buttons = given.get("buttons", [])
        more = {"key": given["key"], "file": file, "buttons": buttons}
        return self._add(given["chat"], "us", given["text"], **more)


def vars_of(bird: Bird) -> dict[str, Any]:
    names = ("number", "chat", "sender", "text", "at", "file", "press")
    whole = dict(bird.__dict__)
    return {name: whole[name] for name in names}


def _said(what: Any, status: int = 200) -> Said:
    return Said(status, json.dumps(what).encode())
