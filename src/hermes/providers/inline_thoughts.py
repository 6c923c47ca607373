"""Split off reasoning that a model writes into its answer, between <think> and </think>. Pure.

Some servers put the opening tag into the question, so that only the closing one comes: all that was
written before it was a thought. What was shown of it meanwhile is taken back.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

from hermes.core.signals import Glimpse, Retrying, TextDelta, ThoughtDelta
from hermes.providers.prose_place import ProsePlace

OPEN: Final = "<think>"
CLOSE: Final = "</think>"
WITHDRAWN: Final = Retrying("", 0.0)  # what was streamed as text was not text
_TAG: Final = re.compile(r"</?think>")
_QUOTE_BEGINS: Final = re.compile(r"['\"“\u2018(]")
_SENTENCE_GOES_ON: Final = re.compile(r"[.,;:'\"!?)”\u2019]")
# Names of models whose servers send a thought without its opening tag.
_BEGINS_WITH_A_THOUGHT: Final = re.compile(r"(?i)\br1\b|\bqwq\b|\bthinking\b")


def begins_with_thought(model: str) -> bool:
    """Return True for a model that is known to think first, often without an opening tag."""
    return bool(_BEGINS_WITH_A_THOUGHT.search(model))


class ThoughtSplitter:
    """Split reasoning from the answer. An opening tag counts at the start of a line; a closing one
    without an opening one counts once. Tags in code, in quotations and within a sentence are text.

    `begun` is for models that are known to think first: their text is a thought until they close
    it. If they never do, it was the answer.
    """

    def __init__(self, *, begun: bool = False) -> None:
        self._state: Literal["start", "thinking", "gap", "talking"] = "start"
        self._held = ""  # what may be the beginning of a tag
        self._place = ProsePlace()
        self._said: list[str] = []
        self._may_close = True  # a closing tag without an opening one may still come
        self._assumed = begun
        self.unclosed = ""  # what came behind a tag that was never closed
        if begun:
            self._state = "thinking"

    @property
    def assumed(self) -> bool:
        """Return True while nothing but the model's name says that this is a thought."""
        return self._assumed

    def expect_answer(self) -> None:
        """The server tells thoughts by itself: what comes now as text is text."""
        if self._assumed:
            self._assumed, self._state = False, "start"

    def feed(self, text: str, *, last: bool = False) -> list[Glimpse]:
        self._held += text
        glimpses: list[Glimpse] = []
        while True:
            step = self._think(last) if self._state == "thinking" else self._talk(last)
            glimpses += step[0]
            if not step[1]:
                return glimpses

    def end(self) -> Sequence[Glimpse]:
        """Return what was held back, at the end of the stream."""
        glimpses = self.feed("", last=True)
        held, self._held = self._held, ""
        if self._state == "thinking":
            self.unclosed += held
            return [*glimpses, ThoughtDelta(held)] if held else glimpses
        return [*glimpses, *self._say(held)]

    def _think(self, last: bool) -> tuple[list[Glimpse], bool]:
        """Return glimpses, and whether there is more to do with what is held."""
        if self._assumed:
            start = self._held.lstrip()
            if not last and len(start) < len(OPEN) and OPEN.startswith(start):
                return [], False
            if start.startswith(OPEN):
                self._assumed, self._held = False, start.removeprefix(OPEN)
        thought, tag, rest = self._held.partition(CLOSE)
        if not tag:
            keep = 0 if last else _overlap(self._held, (CLOSE,))
            cut = len(self._held) - keep
            thought, self._held = self._held[:cut], self._held[cut:]
            self.unclosed += thought
            return ([ThoughtDelta(thought)] if thought else []), False
        self._state, self._held, self.unclosed = "gap", rest, ""
        self._may_close = self._assumed = False
        self._place = ProsePlace()
        return ([ThoughtDelta(thought)] if thought else []), True

    def _talk(self, last: bool) -> tuple[list[Glimpse], bool]:
        if self._state in ("start", "gap"):
            start = self._held.lstrip()
            if not start:
                if self._state == "gap":
                    self._held = ""
                return [], False
            if not last and len(start) < len(OPEN) and OPEN.startswith(start):
                return [], False
            if self._state == "gap" or start.startswith(OPEN):
                self._held = start
        tag = _TAG.search(self._held)
        if tag is None:
            cut = len(self._held) - (0 if last else _overlap(self._held, (OPEN, CLOSE)))
            return self._release(cut), False
        if tag.group() == CLOSE and not last and tag.end() == len(self._held):
            return self._release(tag.start()), False  # the next character tells more
        glimpses = self._release(tag.start())
        if self._opens(tag.group()):
            self._state, self._held = "thinking", self._held.removeprefix(OPEN)
            return glimpses, True
        if self._closes(tag.group()):
            thought = "".join(self._said)
            self._said = []
            self._held = self._held.removeprefix(CLOSE)
            self._state, self._may_close, self._place = "gap", False, ProsePlace()
            return [*glimpses, WITHDRAWN, ThoughtDelta(thought)], True
        if tag.group() == OPEN:
            self._may_close = False  # somebody writes about these tags
        return [*glimpses, *self._release(len(tag.group()))], True

    def _opens(self, tag: str) -> bool:
        return tag == OPEN and self._place.begins_line

    def _closes(self, tag: str) -> bool:
        if tag != CLOSE or not self._may_close or not self._place.is_plain:
            return False
        before, after = self._place.tail[-1:], self._held[len(CLOSE) : len(CLOSE) + 1]
        spaced = before == " " and after == " "
        return not (spaced or _QUOTE_BEGINS.match(before) or _SENTENCE_GOES_ON.match(after))

    def _release(self, length: int) -> list[Glimpse]:
        text, self._held = self._held[:length], self._held[length:]
        return self._say(text)

    def _say(self, text: str) -> list[Glimpse]:
        if not text:
            return []
        self._state = "talking"
        self._place.pass_over(text)
        if self._may_close:
            self._said.append(text)
        return [TextDelta(text)]


def _overlap(text: str, tags: Sequence[str]) -> int:
    """Return how many characters at the end of `text` may begin a tag."""
    for length in range(min(len(text), max(map(len, tags)) - 1), 0, -1):
        if any(tag.startswith(text[-length:]) for tag in tags):
            return length
    return 0
