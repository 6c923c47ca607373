"""Read what a small model writes: one JSON object, a call or its answer. Pure.

The text of an answer is streamed while it is written. Anything else is read like the answer of any
other model, so that a server without grammars is no problem.
"""

import json
import re
from typing import Final, Literal

from hermes.core.ports import ModelRequest
from hermes.providers.small_render import ANSWER
from hermes.providers.text_call_values import read_json
from hermes.providers.text_calls import TextCallReader, TextCalls, reader_for

HEAD_CHARS_MAX: Final = 120
_HEAD: Final = re.compile(
    rf'\s*\{{\s*"name"\s*:\s*"{ANSWER}"\s*,\s*"arguments"\s*:\s*\{{\s*"text"\s*:\s*"'
)
_NOT_YET: Final = re.compile(r'\s*(?:\{\s*(?:"[^"]*"?\s*:?\s*(?:"[^"]*)?)?)?\Z')
# A string up to its end, or up to an escape that is not complete yet.
_STRING: Final = re.compile(r'(?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*', re.DOTALL)
_HALF_PAIR: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")  # the other half follows


def small_reader(request: ModelRequest) -> "SmallCallReader | None":
    """Return a reader for the answer to this request. None: no tools were offered."""
    inner = reader_for(request)
    return SmallCallReader(inner) if inner is not None else None


class SmallCallReader:
    """Take the pieces of an answer; show the text of an answer, and hold back a call."""

    def __init__(self, inner: TextCallReader) -> None:
        self._inner = inner
        self._state: Literal["start", "answering", "closed", "other"] = "start"
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what can be shown now."""
        if self._state == "other":
            return self._inner.feed(text)
        if self._state == "closed":
            return ""
        self._held += text
        if self._state == "start":
            head = _HEAD.match(self._held)
            if head is None:
                return self._undecided()
            self._state, self._held = "answering", self._held[head.end() :]
        return self._string()

    def end(self, *, native: bool) -> TextCalls:
        """Return the rest of the text and the calls, at the end of the answer."""
        if self._state == "start":
            return self._whole(native=native)
        if self._state == "other":
            return self._inner.end(native=native)
        rest, self._held = self._held, ""
        return TextCalls(rest if self._state == "answering" else "")

    def _undecided(self) -> str:
        if len(self._held) <= HEAD_CHARS_MAX and (
            _NOT_YET.match(self._held) or f'"{ANSWER}"' in self._held
        ):
            return ""
        self._state = "other"
        held, self._held = self._held, ""
        return self._inner.feed(held)

    def _whole(self, *, native: bool) -> TextCalls:
        """An answer in another spelling of its form, or a short text of any kind."""
        read = read_json(self._held, 0)
        value = read[0] if read and not self._held[read[1] :].strip() else None
        arguments = value.get("arguments") if isinstance(value, dict) else None
        text = arguments.get("text") if isinstance(arguments, dict) else None
        if isinstance(value, dict) and value.get("name") == ANSWER and isinstance(text, str):
            return TextCalls(text)
        shown = self._inner.feed(self._held)
        found = self._inner.end(native=native)
        return TextCalls(shown + found.text, found.calls)

    def _string(self) -> str:
        """Return as much of the string as is certain."""
        written = _STRING.match(self._held)
        end = written.end() if written is not None else 0
        if self._held[end : end + 1] == '"':
            text, self._state, self._held = self._held[:end], "closed", ""
            return _unescaped(text)
        half = _HALF_PAIR.search(self._held, 0, end)
        cut = half.start() if half else end
        text, self._held = self._held[:cut], self._held[cut:]
        return _unescaped(text)


def _unescaped(text: str) -> str:
    try:
        found = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
    return found if isinstance(found, str) else text
