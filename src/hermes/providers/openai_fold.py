"""Fold the chunks of an OpenAI chat completion into one answer. Pure.

Without a finish reason there is no answer: a truncated stream is an error, however much of it came.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from hermes.core.errors import ProviderBusy
from hermes.core.messages import Thought, Usage
from hermes.core.ports import Answer, ModelRequest, RawCall
from hermes.core.signals import Glimpse, TextDelta, ThoughtDelta
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.failures import complained
from hermes.providers.folding import (
    Finish,
    Length,
    cut_off,
    foreign,
    raw_calls,
    wordless,
)
from hermes.providers.inline_thoughts import (
    OPEN,
    WITHDRAWN,
    ThoughtSplitter,
    begins_with_thought,
)
from hermes.providers.openai_render import KeptReasoning
from hermes.providers.openai_usage import usage_of
from hermes.providers.pairs import PairJoiner, decoded, joined
from hermes.providers.pieces import STANDARD, Quirks
from hermes.providers.small_calls import SmallCallReader, small_reader
from hermes.providers.sse import ServerEvent
from hermes.providers.text_calls import TextCallReader, reader_for

_FINISH: Final[dict[str, Finish]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "safety": "filtered",
}


class _Inner(Struct):
    text: str = ""


class _Part(Struct):
    """Content in pieces: text, or reasoning that is itself a list of texts."""

    type: str = ""
    text: str | None = None
    thinking: list[_Inner] | str | None = None


class _Function(Struct):
    name: str | None = None
    arguments: str | dict[str, object] | None = None


class _CallDelta(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: dict[str, object] | None = None


class _Delta(Struct):
    content: str | list[_Part] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, object]] | None = None
    tool_calls: list[_CallDelta] | None = None
    refusal: str | None = None


class _Choice(Struct):
    index: int | None = None
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(Struct):
    choices: list[_Choice] | None = None
    usage: Raw = Raw()
    error: dict[str, object] | str | None = None


class _Call:
    """A call that is still growing."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.extra: dict[str, object] | None = None


_chunks = msgspec.json.Decoder(_Chunk)


class OpenAIFold:
    """Take the events in order, then return the answer."""

    def __init__(
        self, whom: EndpointLabel, request: ModelRequest, quirks: Quirks = STANDARD
    ) -> None:
        self.started = False
        self.finished = False
        self.thinks_first = False
        self._whom = whom
        self._text: list[str] = []
        self._thought: list[str] = []
        self._details: list[dict[str, object]] = []
        self._calls: dict[int, _Call] = {}  # by the server's index, in order of arrival
        self._order: list[_Call] = []
        self._reason: str | None = None
        self._usage = Usage()
        self._splitter = ThoughtSplitter(
            begun=quirks.thinks_first or begins_with_thought(whom.name)
        )
        self._asked = request, quirks
        self._reader = _reader(request, quirks)
        self._written: tuple[RawCall, ...] = ()  # calls that came as text
        self._said, self._mused = PairJoiner(), PairJoiner()
        self._length = Length()

    def take(self, event: ServerEvent) -> Sequence[Glimpse]:
        if event.data.strip() == b"[DONE]":
            self.finished = True
            return ()
        return self._chunk(event.data)

    def whole(self, body: bytes) -> Sequence[Glimpse]:
        glimpses = self._chunk(body)
        if self._reason is None and not self.started:
            raise foreign(self._whom, body)
        self._reason = self._reason or "stop"  # the document is whole, or it would not be JSON
        self.finished = True
        return [*glimpses, *self._rest()]

    def answer(self, model: str) -> Answer:
        """Return the complete answer. Raise when the server did not finish it, or sent nothing."""
        if self._reason is None:
            raise cut_off(self._whom)
        finish = self._length.finish(_FINISH.get(self._reason.lower(), "stop"), self._order)
        written = [RawCall(call.name, joined("".join(call.arguments))) for call in self._order]
        calls = raw_calls(self._whom, written, finish) or self._written
        text = self._spoken(finish)
        if calls and finish == "stop":
            finish = "calls"
        if not text.strip() and not calls:
            raise wordless(self._whom, finish)
        return Answer(
            text=self._length.bounded(text),
            calls=calls,
            thoughts=self._thoughts(),
            usage=self._usage,
            model=model,
            finish=finish,
        )

    def _spoken(self, finish: Finish) -> str:
        """Return the text. What stands behind a tag that was never closed was no thought, unless
        the answer was cut off in it."""
        text = "".join(self._text)
        behind = self._splitter.unclosed
        if not behind or finish != "stop":
            return text
        thought = "".join(self._thought)
        if not text.strip():
            return thought  # it never left its thoughts: they are the answer
        self._thought = [thought.removesuffix(behind)]
        return f"{text}{OPEN}{behind}"

    def _chunk(self, data: bytes) -> list[Glimpse]:
        try:
            chunk = decoded(_chunks, data)
        except (ValueError, RecursionError) as broken:
            raise foreign(self._whom, data) from broken
        if chunk.error:
            raise complained(self._whom, chunk.error)
        if bytes(chunk.usage) not in (b"", b"null"):
            self._usage = usage_of(chunk.usage)
        glimpses: list[Glimpse] = []
        for choice in chunk.choices or ():
            if not choice.index:
                glimpses += self._choice(choice)
        return glimpses

    def _choice(self, choice: _Choice) -> list[Glimpse]:
        delta = choice.delta or choice.message or _Delta()
        details = delta.reasoning_details or []
        shown = (
            delta.reasoning_content or delta.reasoning or (_readable(details) if details else "")
        )
        glimpses = self._think(shown)
        if delta.content:
            glimpses += self._content(delta.content)
        if delta.refusal:
            glimpses += self._content(delta.refusal)
        self._merge_details(details)
        for call in delta.tool_calls or ():
            self._call(call)
        if choice.finish_reason:
            self._finish_with(choice.finish_reason)
            glimpses += self._rest()
        return glimpses

    def _rest(self) -> list[Glimpse]:
        """Return what was held back until its meaning was clear."""
        held = self._splitter.feed(self._said.end())
        glimpses = [*self._think(self._mused.end()), *self._say([*held, *self._splitter.end()])]
        if self._splitter.assumed:  # it was no thought
            text, self._splitter.unclosed, self._thought = self._splitter.unclosed, "", []
            glimpses += self._say([TextDelta(text)])
        if self._reader is not None:
            found = self._reader.end(native=bool(self._order))
            self._reader, self._written = None, found.calls
            if found.calls:
                self._text = ["".join(self._text).rstrip()]
            if found.text:
                self._text.append(found.text)
                glimpses.append(TextDelta(found.text))
        return glimpses

    def _finish_with(self, reason: str) -> None:
        if reason in ("error", "insufficient_system_resource"):
            raise ProviderBusy(f"{self._whom.name} broke off the answer ({reason}).")
        self._reason = reason

    def _content(self, content: str | list[_Part] | None) -> list[Glimpse]:
        if isinstance(content, str):
            return self._say(self._splitter.feed(self._said.feed(content)))
        glimpses: list[Glimpse] = []
        for part in content or ():
            if isinstance(part.thinking, str):
                glimpses += self._think(part.thinking)
            elif part.thinking is not None:
                glimpses += self._think("".join(inner.text for inner in part.thinking))
            elif part.text:
                glimpses += self._content(part.text)
        return glimpses

    def _say(self, pieces: Sequence[Glimpse]) -> list[Glimpse]:
        shown: list[Glimpse] = []
        for piece in pieces:
            self.started = True
            if isinstance(piece, TextDelta):
                self._grown(piece.text)
                text = self._reader.feed(piece.text) if self._reader is not None else piece.text
                if text:
                    self._text.append(text)
                    shown.append(TextDelta(text))
                continue
            if isinstance(piece, ThoughtDelta):
                self._thought.append(piece.text)
            elif piece is WITHDRAWN:
                self.thinks_first, self._text = True, []
                self._reader = _reader(*self._asked)
            shown.append(piece)
        return shown

    def _grown(self, piece: str) -> None:
        if self._length.add(piece):
            self._reason, self.finished = self._reason or "length", True

    def _think(self, piece: str) -> list[Glimpse]:
        text = self._mused.feed(piece)
        if not text:
            return []
        self._splitter.expect_answer()  # this server tells thoughts by itself
        self._grown(text)
        return self._say([ThoughtDelta(text)])

    def _merge_details(self, details: Sequence[dict[str, object]]) -> None:
        """Merge the pieces of a block, which share one index: texts are joined, other fields
        replaced."""
        for piece in details:
            self.started = True
            last = self._details[-1] if self._details else {}
            joins = [key for key in ("text", "summary") if isinstance(piece.get(key), str)]
            same = all(last.get(key) == piece.get(key) for key in ("type", "index"))
            if not (self._details and same and (joins or piece.get("signature"))):
                self._details.append(dict(piece))
                continue
            for key, value in piece.items():
                if key in joins:
                    last[key] = str(last.get(key) or "") + str(value)
                elif value is not None:
                    last[key] = value

    def _call(self, delta: _CallDelta) -> None:
        self.started = True
        function = delta.function or _Function()
        call = self._which(delta, function)
        call.id = delta.id or call.id
        call.extra = delta.extra_content or call.extra
        if function.name and function.name != call.name:
            call.name += function.name
        if isinstance(function.arguments, dict):
            call.arguments = [msgspec.json.encode(function.arguments).decode()]
        elif function.arguments:
            call.arguments.append(function.arguments)
            self._grown(function.arguments)

    def _which(self, delta: _CallDelta, function: _Function) -> _Call:
        """Return the call that a piece belongs to: by index, or by a new id, because some servers
        give every call index 0 or none."""
        index = delta.index if delta.index is not None else self._implied(delta, function)
        call = self._calls.get(index)
        if call is None or _is_another(call, delta, function):
            call = self._calls[index] = _Call()
            self._order.append(call)
        return call

    def _implied(self, delta: _CallDelta, function: _Function) -> int:
        last = len(self._order) - 1
        if last < 0 or (function.name and not delta.id):
            return last + 1
        return last

    def _thoughts(self) -> tuple[Thought, ...]:
        extras = [_encoded(call.extra) for call in self._order]
        kept = KeptReasoning(
            reasoning_details=[_encoded(detail) for detail in self._details],
            extra_content=extras if any(call.extra for call in self._order) else [],
        )
        text = "".join(self._thought)
        holds = bool(kept.reasoning_details or kept.extra_content)
        opaque = msgspec.json.encode(kept).decode() if holds else ""
        return (Thought(text=text, opaque=opaque),) if text or opaque else ()


def _reader(request: ModelRequest, quirks: Quirks) -> TextCallReader | SmallCallReader | None:
    return small_reader(request) if quirks.calls == "text" else reader_for(request)


def _encoded(value: dict[str, object] | None) -> Raw:
    return Raw(joined(msgspec.json.encode(value).decode()).encode())


def _is_another(call: _Call, delta: _CallDelta, function: _Function) -> bool:
    """Return True if this piece begins a new call although its index is known."""
    if delta.id and call.id:
        return delta.id != call.id
    return bool(function.name and call.arguments and _complete("".join(call.arguments)))


def _complete(arguments: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _readable(details: Sequence[dict[str, object]]) -> str:
    found = [detail.get("text") or detail.get("summary") for detail in details]
    return "".join(text for text in found if isinstance(text, str))
