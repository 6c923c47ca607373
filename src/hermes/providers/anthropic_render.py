"""Encode a request for Anthropic's Messages API. Pure."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from hermes.core.messages import Line, Outcome, Thought
from hermes.core.ports import ModelRequest, ToolSpec
from hermes.providers.pieces import NO_OUTPUT, Gallery, Image, Quirks, safe_name

OUTPUT_TOKENS_DEFAULT: Final = 32_000  # the protocol wants a number; current models allow this

Json = dict[str, object]
Block = Json | Raw

_MARK: Final = {"type": "ephemeral"}


class _Kind(Struct):
    type: str


def render(request: ModelRequest, *, model: str, writer: str, quirks: Quirks) -> bytes:
    """Return the body. `writer` is our provider:model; reasoning of another one is not passed
    on."""
    messages = _messages(request, writer)
    system: list[Json] = [{"type": "text", "text": request.system}] if request.system else []
    tools = [_tool(tool) for tool in request.tools]
    if quirks.cache_marks:
        _mark(system)
        _mark(tools)
        _mark(messages[-1][1] if messages and messages[-1][0] == "user" else [])
    limit = request.output_tokens_max or quirks.output_tokens_default or OUTPUT_TOKENS_DEFAULT
    body: Json = {"model": model, quirks.output_key: limit}
    if tools:
        body["tools"] = tools
    if system:
        body["system"] = system
    body["messages"] = [{"role": role, "content": blocks} for role, blocks in messages]
    body["stream"] = True
    return msgspec.json.encode({**body, **quirks.body})


def _messages(request: ModelRequest, writer: str) -> list[tuple[str, list[Block]]]:
    """Return the messages. Results and a person's text share one role here, and are merged when
    adjacent."""
    gallery = Gallery(request.lines, request.blobs)
    messages: list[tuple[str, list[Block]]] = []
    for line in request.lines:
        role = "assistant" if line.role == "assistant" else "user"
        blocks = _blocks(line, gallery, writer)
        if messages and messages[-1][0] == role:
            messages[-1][1].extend(blocks)
        else:
            messages.append((role, blocks))
    return messages


def _blocks(line: Line, gallery: Gallery, writer: str) -> list[Block]:
    if line.role == "assistant":
        return _assistant(line, writer)
    said = [*_text(line.text), *_media(line, gallery)]
    if line.role == "user":
        return [*_text(line.note), *said]
    result: Json = {
        "type": "tool_result",
        "tool_use_id": line.call,
        "content": said or [{"type": "text", "text": NO_OUTPUT}],
    }
    if line.outcome not in (None, Outcome.OK):
        result["is_error"] = True
    return [result, *_text(line.note)]


def _assistant(line: Line, writer: str) -> list[Block]:
    blocks: list[Block] = []
    if line.calls and line.model == writer:
        blocks += _thoughts(line.thoughts)
    blocks += _text(line.text)
    for call in line.calls:
        use: Json = {
            "type": "tool_use",
            "id": call.id,
            "name": safe_name(call.tool),
            "input": Raw(call.arguments.encode()),
        }
        blocks.append(use)
    return blocks


def _thoughts(thoughts: Sequence[Thought]) -> list[Block]:
    """Return the reasoning blocks byte for byte, because they are signed."""
    return [Raw(thought.opaque.encode()) for thought in thoughts if _is_block(thought.opaque)]


def _is_block(opaque: str) -> bool:
    try:
        kind = msgspec.json.decode(opaque, type=_Kind).type
    except (ValueError, RecursionError):
        return False  # another protocol's, or nothing to pass back
    return kind in ("thinking", "redacted_thinking")


def _text(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _media(line: Line, gallery: Gallery) -> list[Block]:
    blocks: list[Block] = []
    for media in line.media:
        match gallery.piece(media):
            case Image(media_type=media_type, base64=base64):
                source = {"type": "base64", "media_type": media_type, "data": base64}
                blocks.append({"type": "image", "source": source})
            case str(text):
                blocks.append({"type": "text", "text": text})
    return blocks


def _tool(tool: ToolSpec) -> Json:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": Raw(tool.parameters.encode()),
    }


def _mark(blocks: list[Json] | list[Block]) -> None:
    """Set a cache mark on the last block, so that the server caches everything up to it."""
    if blocks and isinstance(last := blocks[-1], dict):
        last["cache_control"] = _MARK
