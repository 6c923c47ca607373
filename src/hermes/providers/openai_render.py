"""Encode a request for OpenAI's chat completions API. Pure."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw, Struct

from hermes.core.messages import Line, Thought
from hermes.core.ports import ModelRequest, ToolSpec
from hermes.core.transcript import spoken
from hermes.providers import small_render
from hermes.providers.pieces import (
    NO_OUTPUT,
    Gallery,
    Image,
    Quirks,
    label_of,
    nine_characters,
    safe_name,
)

Json = dict[str, object]

TOOL_LISTS_MAX: Final = 16
_MARK: Final = {"type": "ephemeral"}


class KeptReasoning(Struct, frozen=True, omit_defaults=True):
    """What a server wants back besides text: `Thought.opaque` is this as JSON.

    `extra_content` has one entry per call, null where the call had none.
    """

    reasoning_details: list[Raw] = []
    extra_content: list[Raw] = []


def render(request: ModelRequest, *, model: str, writer: str, quirks: Quirks) -> bytes:
    """Return the body. `writer` is our provider:model; reasoning of another one is not passed
    on."""
    if quirks.calls == "text" and request.tools:
        return _plain(request, model, quirks)
    page = _Page(Gallery(request.lines, request.blobs), writer, quirks)
    messages = [page.system(request.system)] if request.system else []
    calling = _turns_with_calls(request.lines)
    for line, in_calling in zip(request.lines, calling, strict=True):
        plain = not (line.media or line.calls or line.thoughts or line.note)
        if plain and line.role != "tool" and line.text:  # most lines of most conversations
            messages.append({"role": line.role, "content": line.text})
        else:
            messages.append(page.message(line, in_calling))
    if quirks.cache_marks:
        _mark(messages)
    body: Json = {"model": model, "messages": messages, "stream": True}
    if quirks.usage_option:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = _tools(request.tools)
    output_max = request.output_tokens_max or quirks.output_tokens_default
    if output_max is not None:
        body[quirks.output_key] = output_max
    return msgspec.json.encode({**body, **quirks.body})


def _plain(request: ModelRequest, model: str, quirks: Quirks) -> bytes:
    """Return the body for a small model: tools and calls are text. The tools come first: they are
    the same in every conversation, and a slow machine has read them already."""
    system = f"{small_render.described(request.tools)}\n\n{request.system}"
    body: Json = {
        "model": model,
        "messages": [{"role": "system", "content": system}, *small_render.messages(request.lines)],
        "stream": True,
    }
    if quirks.usage_option:
        body["stream_options"] = {"include_usage": True}
    if quirks.grammar:
        body["response_format"] = small_render.grammar(request.tools)
    output_max = request.output_tokens_max or quirks.output_tokens_default
    if output_max is not None:
        body[quirks.output_key] = output_max
    return msgspec.json.encode({**body, **quirks.body})


class _Page:
    """One request being encoded: what its messages have in common."""

    def __init__(self, gallery: Gallery, writer: str, quirks: Quirks) -> None:
        self._gallery = gallery
        self._writer = writer
        self._quirks = quirks
        self._id: Callable[[str], str] = nine_characters if quirks.call_ids == "nine" else str

    def system(self, text: str) -> Json:
        return {"role": "system", "content": text}

    def message(self, line: Line, in_calling: bool) -> Json:
        if line.role == "assistant":
            return self._assistant(line, in_calling)
        if line.role == "tool":
            text = "\n".join([spoken(line), *self._named(line)]).strip() or NO_OUTPUT
            return {"role": "tool", "tool_call_id": self._id(line.call), "content": text}
        return {"role": "user", "content": self._content(line)}

    def _content(self, line: Line) -> str | list[Json]:
        if not line.media:
            return spoken(line)
        said = spoken(line)
        parts: list[Json] = [{"type": "text", "text": said}] if said.strip() else []
        for media in line.media:
            match self._gallery.piece(media):
                case Image(media_type=media_type, base64=base64):
                    url = f"data:{media_type};base64,{base64}"
                    parts.append({"type": "image_url", "image_url": {"url": url}})
                case str(text):
                    parts.append({"type": "text", "text": text})
        return parts

    def _named(self, line: Line) -> list[str]:
        """Return the attachments of a result as text, because a tool's message takes text only."""
        return [f"[Attached: {label_of(media)}.]" for media in line.media]

    def _assistant(self, line: Line, in_calling: bool) -> Json:
        if not in_calling and self._quirks.reasoning_when == "calls":
            return {"role": "assistant", "content": line.text or None}
        mine = line.thoughts if line.model == self._writer else ()
        kept = _kept_reasoning(mine)
        message: Json = {"role": "assistant", "content": line.text or None}
        if line.calls:
            extras = self._extras(line, kept)
            message["tool_calls"] = [
                {
                    "id": self._id(call.id),
                    "type": "function",
                    "function": {"name": safe_name(call.tool), "arguments": call.arguments},
                    **({"extra_content": extra} if extra is not None else {}),
                }
                for call, extra in zip(line.calls, extras, strict=True)
            ]
        if in_calling or self._quirks.reasoning_when == "always":
            message.update(self._reasoning(line, mine, kept))
        return message

    def _reasoning(self, line: Line, thoughts: Sequence[Thought], kept: KeptReasoning) -> Json:
        field = self._quirks.reasoning_field
        if field == "reasoning_details" and kept.reasoning_details:
            return {field: kept.reasoning_details}
        if field == "reasoning_content":
            text = "".join(thought.text for thought in thoughts)
            if text or (self._quirks.reasoning_blank and line.calls):
                return {field: text}
        return {}

    def _extras(self, line: Line, kept: KeptReasoning) -> list[Raw | None]:
        none: list[Raw | None] = [None] * len(line.calls)
        if not self._quirks.call_extras:
            return none
        if len(kept.extra_content) == len(line.calls):
            return [extra if bytes(extra) != b"null" else None for extra in kept.extra_content]
        if self._quirks.call_extra_blank:
            return [Raw(self._quirks.call_extra_blank.encode()), *none[1:]]
        return none


@lru_cache(maxsize=TOOL_LISTS_MAX)
def _tools(tools: tuple[ToolSpec, ...]) -> Raw:
    """Return the encoded tools, cached because they are mostly the same for a whole process."""
    return Raw(msgspec.json.encode([_tool(tool) for tool in tools]))


def _tool(tool: ToolSpec) -> Json:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": Raw(tool.parameters.encode()),
    }
    return {"type": "function", "function": function}


def _kept_reasoning(thoughts: Sequence[Thought]) -> KeptReasoning:
    for thought in thoughts:
        if thought.opaque:
            try:
                return msgspec.json.decode(thought.opaque, type=KeptReasoning)
            except (ValueError, RecursionError):
                continue  # another protocol's; it is of no use here
    return KeptReasoning()


def _turns_with_calls(lines: Sequence[Line]) -> list[bool]:
    """Return for each line whether there is a call between the user lines around it."""
    if not any(line.calls for line in lines):
        return [False] * len(lines)
    found: list[bool] = []
    start = 0
    for at, line in enumerate([*lines, None]):
        if line is None or line.role == "user":
            calls = any(other.calls for other in lines[start:at])
            found.extend([calls] * (at - start))
            start = at
    return found


def _mark(messages: list[Json]) -> None:
    """Set cache marks behind the system prompt, the last user message and the last result."""
    for role in ("system", "user", "tool"):
        last = next((m for m in reversed(messages) if m["role"] == role), None)
        if last is None:
            continue
        content = last["content"]
        parts: list[Mapping[str, object]] = (
            [{"type": "text", "text": content}]
            if isinstance(content, str)
            else list(content)
            if isinstance(content, list)
            else []
        )
        if parts:
            last["content"] = [*parts[:-1], {**parts[-1], "cache_control": _MARK}]
