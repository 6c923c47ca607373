"""What a model says on the wire, and how a person makes it call a tool: nothing is kept.

A person who writes `[[call NAME {"argument": …}]]` has that tool called, until a result stands
behind those words: so does any model that does what it is told, also after a crash. The same
words count once.
"""

import json
import re
import uuid
from typing import Any

MARK = b"[[call "
CALL = re.compile(r"\[\[call (\w+) (\{.*?\})\]\]", re.S)
SAY = re.compile(r"\[\[say (.+?)\]\]")
USAGE = {"prompt_tokens": 100, "completion_tokens": 12, "total_tokens": 112}
WORDS = 3  # in each piece of a stream

Json = dict[str, Any]
Call = tuple[str, str]  # name and arguments


def framed(kind: str, body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def streamed(text: str, call: Call | None = None) -> bytes:
    return framed("text/event-stream", b"".join(pieces(text, call)))


def pieces(text: str, call: Call | None = None) -> list[bytes]:
    """The events of a stream, one by one."""
    events = [_event({"role": "assistant", "content": ""})]
    words = text.split(" ") if text else []
    for at in range(0, len(words), WORDS):
        piece = " ".join(words[at : at + WORDS])
        events.append(_event({"content": piece + (" " if at + WORDS < len(words) else "")}))
    if call is not None:
        events.append(_event({"tool_calls": [{"index": 0, **_called(call)}]}))
    events.append(_event({}, "stop" if call is None else "tool_calls"))
    events.append(_line({"id": "c", "model": "m", "choices": [], "usage": USAGE}))
    return [*events, b"data: [DONE]\n\n"]


def plain(text: str, call: Call | None = None) -> bytes:
    message: Json = {"role": "assistant", "content": text or None}
    if call is not None:
        message["tool_calls"] = [_called(call)]
    finish = "stop" if call is None else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": USAGE}
    return framed("application/json", json.dumps({**whole, "choices": [choice]}).encode())


def asks_for_call(body: bytes) -> bool:
    return MARK in body


def call_of(request: Json) -> Call | None:
    """The call that was asked for last and has no result yet. Words that are only quoted again,
    as some do with what was said before, ask for nothing."""
    found: Call | None = None
    seen: set[Call] = set()
    for message in request["messages"]:
        if message["role"] == "tool":
            found = None
        elif message["role"] == "user":
            for asked in CALL.findall(text_of(message)):
                if asked not in seen:
                    seen.add(asked)
                    found = asked
    return found


def said(request: Json) -> str:
    """What the person wants to hear, if that was said since the last answer."""
    wanted = ""
    for message in request["messages"]:
        if message["role"] == "assistant":
            wanted = ""
        elif message["role"] == "user" and (asked := SAY.search(text_of(message))):
            wanted = asked[1]
    return wanted


def text_of(message: Json) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)


def _called(call: Call) -> Json:
    name, arguments = call
    function = {"name": name, "arguments": arguments}
    return {"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": function}


def _event(delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    whole = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return _line({**whole, "choices": [choice]})


def _line(value: Json) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
