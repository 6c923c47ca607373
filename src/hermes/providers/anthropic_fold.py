"""Fold the events of an Anthropic message into one answer. Pure.

Without `message_stop` there is no answer: a truncated stream is an error, however much of it came.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from hermes.core.errors import ContextOverflow, ProviderFailed, ProviderGarbled
from hermes.core.messages import Thought, Usage
from hermes.core.ports import Answer, ModelRequest, RawCall
from hermes.core.signals import Glimpse, TextDelta, ThoughtDelta
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.failures import complained
from hermes.providers.folding import (
    CALLS_MAX,
    Count,
    Finish,
    Length,
    count,
    cut_off,
    foreign,
    raw_calls,
    wordless,
)
from hermes.providers.pairs import PairJoiner, decoded, joined
from hermes.providers.pieces import STANDARD, Quirks
from hermes.providers.sse import ServerEvent

BLOCKS_MAX: Final = 4 * CALLS_MAX

_FINISH: Final[dict[str, Finish]] = {
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}


class _Usage(Struct):
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None


class _Block(Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    name: str | None = None
    input: Raw = Raw()


class _Delta(Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Message(Struct):
    content: list[_Block] = []
    stop_reason: str | None = None
    usage: _Usage | None = None


class _Event(Struct):
    type: str = ""
    index: int | None = None
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: dict[str, object] | str | None = None


class _Whole(_Message):
    type: str = ""
    error: dict[str, object] | str | None = None


class _Grown:
    """A content block that is still growing."""

    def __init__(self, start: _Block) -> None:
        self.kind = start.type
        self.name = start.name or ""
        self.data = start.data or ""
        self.text: list[str] = []
        self.thinking: list[str] = []
        self.says, self.thinks = PairJoiner(), PairJoiner()
        self.signature = [start.signature or ""]
        given = bytes(start.input)
        self.given = "" if given in (b"", b"null", b"{}") else given.decode()
        self.json: list[str] = []


_events = msgspec.json.Decoder(_Event)
_wholes = msgspec.json.Decoder(_Whole)


class AnthropicFold:
    """Take the events in order, then return the answer."""

    def __init__(
        self, whom: EndpointLabel, _request: ModelRequest, _quirks: Quirks = STANDARD
    ) -> None:
        self.started = False
        self.finished = False
        self.thinks_first = False
        self._whom = whom
        self._blocks: dict[int, _Grown] = {}
        self._reason: str | None = None
        self._usage = _Usage()
        self._length = Length()

    def take(self, event: ServerEvent) -> Sequence[Glimpse]:
        try:
            read = decoded(_events, event.data)
        except (ValueError, RecursionError) as broken:
            raise foreign(self._whom, event.data) from broken
        match read.type or event.name:
            case "message_start":
                self._count(read.message.usage if read.message else None)
            case "content_block_start" if read.content_block and read.index is not None:
                return self._open(read.index, read.content_block)
            case "content_block_delta" if read.delta and read.index in self._blocks:
                return self._grow(self._blocks[read.index], read.delta)
            case "content_block_start" | "content_block_delta":
                raise foreign(self._whom, event.data)
            case "message_delta":
                self._reason = (read.delta.stop_reason if read.delta else None) or self._reason
                self._count(read.usage)
            case "message_stop":
                self.finished = True
            case "error":
                raise complained(self._whom, read.error)
        return ()

    def whole(self, body: bytes) -> Sequence[Glimpse]:
        try:
            message = decoded(_wholes, body)
        except (ValueError, RecursionError) as broken:
            raise foreign(self._whom, body) from broken
        if message.error:
            raise complained(self._whom, message.error)
        if message.type != "message":
            raise foreign(self._whom, body)
        self._count(message.usage)
        glimpses: list[Glimpse] = []
        for index, block in enumerate(message.content):
            glimpses += self._open(index, block)
        self._reason = message.stop_reason or "end_turn"
        self.finished = True
        return glimpses

    def answer(self, model: str) -> Answer:
        """Return the complete answer. Raise when the server did not finish it, or sent nothing."""
        if not self.finished or self._reason is None:
            raise cut_off(self._whom)
        blocks = [block for _, block in sorted(self._blocks.items())]
        uses = [block for block in blocks if block.kind == "tool_use"]
        finish = self._length.finish(_FINISH.get(self._reason, "stop"), uses)
        for block in blocks:
            block.text.append(block.says.end())
            block.thinking.append(block.thinks.end())
        text = "".join(piece for block in blocks if block.kind == "text" for piece in block.text)
        written = [RawCall(use.name, joined("".join(use.json) or use.given)) for use in uses]
        calls = raw_calls(self._whom, written, finish)
        if calls and finish == "stop":
            finish = "calls"
        elif finish == "calls" and not calls:
            finish = "stop"
        if not text.strip() and not calls:
            raise self._wordless(finish)
        return Answer(
            text=self._length.bounded(text),
            calls=calls,
            thoughts=_thoughts(blocks),
            usage=self._total(),
            model=model,
            finish=finish,
        )

    def _wordless(self, finish: Finish) -> ProviderFailed:
        if self._reason == "model_context_window_exceeded":
            name = self._whom.name
            return ContextOverflow(f"{name}: the conversation fills all that the model reads.")
        return wordless(self._whom, finish)

    def _open(self, index: int, block: _Block) -> list[Glimpse]:
        if len(self._blocks) >= BLOCKS_MAX:
            raise ProviderGarbled(f"{self._whom.name} sent more than {BLOCKS_MAX} blocks.")
        self._blocks[index] = grown = _Grown(block)
        self.started = self.started or block.type == "tool_use"
        return self._glimpses(grown, block.text, block.thinking)

    def _grow(self, block: _Grown, delta: _Delta) -> list[Glimpse]:
        self.started = True
        block.signature.append(delta.signature or "")
        block.json.append(delta.partial_json or "")
        self._length.add(delta.partial_json)
        return self._glimpses(block, delta.text, delta.thinking)

    def _glimpses(self, block: _Grown, text: str | None, thinking: str | None) -> list[Glimpse]:
        glimpses: list[Glimpse] = []
        if thought := block.thinks.feed(thinking or ""):
            block.thinking.append(thought)
            glimpses.append(ThoughtDelta(thought))
        if said := block.says.feed(text or ""):
            block.text.append(said)
            glimpses.append(TextDelta(said))
        self.started = self.started or bool(glimpses)
        if self._length.add(text, thinking):
            self._reason, self.finished = self._reason or "max_tokens", True
        return glimpses

    def _count(self, usage: _Usage | None) -> None:
        """Update the token counts. Later counts replace earlier ones; missing ones stay."""
        if usage is None:
            return
        known = self._usage
        self._usage = _Usage(
            input_tokens=_later(known.input_tokens, usage.input_tokens),
            output_tokens=_later(known.output_tokens, usage.output_tokens),
            cache_read_input_tokens=_later(
                known.cache_read_input_tokens, usage.cache_read_input_tokens
            ),
            cache_creation_input_tokens=_later(
                known.cache_creation_input_tokens, usage.cache_creation_input_tokens
            ),
        )

    def _total(self) -> Usage:
        read = count(self._usage.cache_read_input_tokens)
        written = count(self._usage.cache_creation_input_tokens)
        return Usage(
            input=count(self._usage.input_tokens) + read + written,
            output=count(self._usage.output_tokens),
            cached=read,
            cache_written=written,
        )


def _later(known: Count, said: Count) -> Count:
    return known if said is None else said


def _thoughts(blocks: Sequence[_Grown]) -> tuple[Thought, ...]:
    thoughts: list[Thought] = []
    for block in blocks:
        if block.kind == "thinking":
            text, signature = "".join(block.thinking), "".join(block.signature)
            kept = {"type": "thinking", "thinking": text, "signature": signature}
            thoughts.append(Thought(text=text, opaque=msgspec.json.encode(kept).decode()))
        elif block.kind == "redacted_thinking":
            kept = {"type": "redacted_thinking", "data": block.data}
            thoughts.append(Thought(opaque=msgspec.json.encode(kept).decode()))
    return tuple(thoughts)
