"""A model server on a loopback port: it records every request and answers by a rule.

It speaks the OpenAI protocol, streaming or not. A rule may wait for a gate that the test opens, so
a turn can be held at any point for as long as a test needs.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Body = dict[str, Any]
LISTED: Body = {"data": [{"id": "double"}]}


@dataclass
class Asked:
    """One request, as the model received it."""

    body: Body
    headers: dict[str, str] = field(default_factory=dict)  # header names in lower case

    @property
    def messages(self) -> list[Body]:
        return list(self.body["messages"])

    @property
    def said(self) -> str:
        """Return the text of the person's last message, including text added around it."""
        for message in reversed(self.messages):
            if message["role"] == "user":
                return text_of(message)
        return ""

    @property
    def results(self) -> list[str]:
        """Return the results of tools since that message."""
        found: list[str] = []
        for message in reversed(self.messages):
            if message["role"] == "user":
                break
            if message["role"] == "tool":
                found.append(text_of(message))
        return found[::-1]

    @property
    def tools(self) -> set[str]:
        """Return the names of the offered tools."""
        return {tool["function"]["name"] for tool in self.body.get("tools", ())}

    @property
    def system(self) -> str:
        return text_of(self.messages[0])

    @property
    def everything(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def faults(self) -> list[str]:
        """Return what the strictest provider would refuse in this conversation (C25); empty if
        valid."""
        messages = self.messages
        found = [f"{n}: a second system message" for n in _places(messages[1:], "system")]
        said = messages[1:] if messages[0]["role"] == "system" else messages
        if not said or said[0]["role"] != "user":
            found.append("it does not begin with the user")
        if said and said[-1]["role"] == "assistant":
            found.append("it ends with the assistant")
        for n, (one, other) in enumerate(pairwise(said), start=1):
            if one["role"] == other["role"] != "tool":
                found.append(f"{n}: two of the {one['role']} in a row")
        for n, message in enumerate(said):
            if _is_blank(message):
                found.append(f"{n}: a blank message of the {message['role']}")
        return found + _unpaired(said)


@dataclass
class Says:
    """The model's answer: text, tool calls (name, arguments), or an HTTP error status."""

    text: str = ""
    calls: tuple[tuple[str, Body | str], ...] = ()
    status: int = 200
    word_s: float = 0.0  # between two words of a stream
    piece: int = 0  # characters of each piece of a stream; 0: split into words
    read: int = 10  # tokens that the response claims for the request


Rule = Callable[[Asked], "Awaitable[Says] | Says"]


def text_of(message: Body) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _written(arguments: Body | str) -> str:
    """Return a text unchanged, so that a rule can send invalid JSON; encode anything else."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _is_blank(message: Body) -> bool:
    content = message.get("content")
    shows = isinstance(content, list) and any(part["type"] != "text" for part in content)
    return not (shows or message.get("tool_calls") or text_of(message).strip())


def _places(messages: list[Body], role: str) -> list[int]:
    return [n for n, message in enumerate(messages) if message["role"] == role]


def _unpaired(said: list[Body]) -> list[str]:
    """Return the violations: each call needs its own id and exactly one result, right after it."""
    found: list[str] = []
    seen: set[str] = set()
    open_: list[str] = []
    for n, message in enumerate(said):
        if message["role"] == "tool":
            name = message["tool_call_id"]
            if name not in open_:
                found.append(f"{n}: a result that no call waits for")
            open_ = [other for other in open_ if other != name]
            continue
        found += [f"{n}: call {name} has no result" for name in open_]
        calls = message.get("tool_calls") or []
        open_ = [call["id"] for call in calls]
        found += [f"{n}: call {name} is there twice" for name in open_ if name in seen]
        found += [f"{n}: two calls of one id"] * (len(set(open_)) != len(open_))
        for call in calls:
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                found.append(f"{n}: arguments that are not an object")
        seen.update(open_)
    return found + [f"call {name} has no result" for name in open_]


def terminal(command: str) -> tuple[str, Body]:
    return "terminal", {"command": command}


def plain(asked: Asked) -> Says:
    """Answer by the default rule: `run CMD` runs it and tells the result; other text is echoed."""
    if asked.said.startswith("run "):
        if asked.results:
            return Says(f"It said: {asked.results[-1]}")
        return Says(calls=(terminal(asked.said.removeprefix("run ")),))
    return Says(f"You said: {asked.said}")


@dataclass
class Model:
    rule: Rule = plain
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    told: dict[str, Body] = field(default_factory=lambda: {"/v1/models": LISTED})
    _gates: dict[str, asyncio.Event] = field(default_factory=dict)
    _reached: dict[str, asyncio.Event] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def hold(self, gate: str) -> None:
        """In a rule: report that this point was reached, and wait until the test opens the gate."""
        self._reached.setdefault(gate, asyncio.Event()).set()
        await self._gates.setdefault(gate, asyncio.Event()).wait()

    async def reached(self, gate: str, limit_s: float = 20.0) -> None:
        await asyncio.wait_for(self._reached.setdefault(gate, asyncio.Event()).wait(), limit_s)

    def open(self, gate: str) -> None:
        self._gates.setdefault(gate, asyncio.Event()).set()

    def shut(self, gate: str) -> None:
        """Close the gate again, so that the next request is held at this point."""
        self._gates.pop(gate, None)
        self._reached.pop(gate, None)

    def check(self) -> None:
        """Fail if any request so far would be refused by a strict provider."""
        wrong = [(asked.faults, asked.everything) for asked in self.asked if asked.faults]
        assert wrong == [], "C25"

    @asynccontextmanager
    async def up(self) -> AsyncIterator["Model"]:
        """Serve while the block runs; at the end fail if any request was invalid."""
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                await self._serve(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                tasks.discard(task)
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
            self.check()
        finally:
            server.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            length = int(head.get("content-length", "0"))
            body = json.loads(await reader.readexactly(length)) if length else {}
            if "messages" not in body:
                told = self.told.get(head[":path"])
                await _plainly(writer, 404 if told is None else 200, told or {})
                continue
            asked = Asked(body, head)
            self.asked.append(asked)
            says = self.rule(asked)
            if not isinstance(says, Says):
                says = await says
            if says.status != 200:
                await _plainly(writer, says.status, {"error": {"message": says.text}})
            elif body.get("stream"):
                await _streamed(writer, says)
            else:
                await _plainly(writer, 200, _whole(says))


async def _head(reader: asyncio.StreamReader) -> dict[str, str]:
    raw = await reader.readuntil(b"\r\n\r\n")
    first, *lines = raw.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    found = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return found | {"": "", ":path": first.split(" ")[1]}


def _calls(says: Says) -> list[Body]:
    return [
        {
            "index": n,
            "id": f"call_{n}",
            "type": "function",
            "function": {"name": name, "arguments": _written(arguments)},
        }
        for n, (name, arguments) in enumerate(says.calls)
    ]


def _usage(says: Says) -> Body:
    return {"prompt_tokens": says.read, "completion_tokens": 5, "total_tokens": says.read + 5}


def _whole(says: Says) -> Body:
    message: Body = {"role": "assistant", "content": says.text or None}
    if says.calls:
        message["tool_calls"] = _calls(says)
    finish = "tool_calls" if says.calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": _usage(says)}


async def _plainly(writer: asyncio.StreamWriter, status: int, body: Body) -> None:
    raw = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(raw)}"
    writer.write(head.encode() + b"\r\n\r\n" + raw)
    await writer.drain()


async def _streamed(writer: asyncio.StreamWriter, says: Says) -> None:
    head = (
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    writer.write(head.encode())
    finish = "tool_calls" if says.calls else "stop"
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in _pieces(says)]
    deltas += [{"tool_calls": _calls(says)}] if says.calls else []
    for delta in deltas:
        await _event(writer, {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if says.word_s and delta.get("content"):
            await asyncio.sleep(says.word_s)
    await _event(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    await _event(writer, {"choices": [], "usage": _usage(says)})
    _chunk(writer, b"data: [DONE]\n\n")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _pieces(says: Says) -> list[str]:
    if not says.piece:
        return _words(says.text)
    return [says.text[n : n + says.piece] for n in range(0, len(says.text), says.piece)]


def _words(text: str) -> list[str]:
    return (
        [word if n == 0 else f" {word}" for n, word in enumerate(text.split(" "))] if text else []
    )


async def _event(writer: asyncio.StreamWriter, value: Body) -> None:
    _chunk(writer, b"data: " + json.dumps(value).encode() + b"\n\n")
    await writer.drain()


def _chunk(writer: asyncio.StreamWriter, raw: bytes) -> None:
    writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
