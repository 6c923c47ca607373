"""Split off reasoning that a model writes into its answer, between <think> and </think>. Pure."""

from collections.abc import Sequence
from typing import Final, Literal

from hermes.core.signals import Glimpse, TextDelta, ThoughtDelta

OPEN: Final = "<think>"
CLOSE: Final = "</think>"


class ThoughtSplitter:
    """Split reasoning from the answer. Only a tag at the very beginning counts; one in the middle
    is text."""

    def __init__(self) -> None:
        self._state: Literal["unsure", "thinking", "gap", "talking"] = "unsure"
        self._held = ""  # what may be the beginning of a tag
        self.unclosed = False

    def feed(self, text: str) -> Sequence[Glimpse]:
        if self._state == "gap":
            text = text.lstrip()
        if self._state in ("gap", "talking"):
            return self._talk(text)
        self._held += text
        if self._state == "unsure":
            start = self._held.lstrip()
            if OPEN.startswith(start[: len(OPEN)]) and len(start) < len(OPEN):
                return []  # nothing yet, or a part of the tag
            if not start.startswith(OPEN):
                return self._talk(self._held)
            self._state = "thinking"
            self._held = start.removeprefix(OPEN)
        return self._think()

    def end(self) -> Sequence[Glimpse]:
        """Return what was held back, at the end of the stream."""
        held, self._held = self._held, ""
        if self._state == "thinking":
            self.unclosed = True
            return [ThoughtDelta(held)] if held else []
        return self._talk(held)

    def _think(self) -> list[Glimpse]:
        thought, tag, rest = self._held.partition(CLOSE)
        if not tag:
            keep = _overlap(self._held, CLOSE)
            cut = len(self._held) - keep
            thought, self._held = self._held[:cut], self._held[cut:]
        glimpses: list[Glimpse] = [ThoughtDelta(thought)] if thought else []
        if tag:
            self._state, self._held = "gap", ""
            glimpses += self._talk(rest.lstrip())
        return glimpses

    def _talk(self, text: str) -> list[Glimpse]:
        if not text:
            return []
        self._state, self._held = "talking", ""
        return [TextDelta(text)]


def _overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` may begin `tag`."""
    for length in range(min(len(text), len(tag) - 1), 0, -1):
        if tag.startswith(text[-length:]):
            return length
    return 0
