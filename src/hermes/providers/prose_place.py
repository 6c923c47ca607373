"""Where in a running text we are: at the start of a line, in a fence, in inline code. Pure.

A mark that a model writes counts only where nobody would write about it: never in code, never in a
quotation.
"""

import re
from typing import Final

LINE_CHARS_MAX: Final = 400  # of a line, as far as anybody looks back
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_QUOTED: Final = re.compile(r"\s*>(?!>>)|    |\t")


class ProsePlace:
    """The place behind all text that was passed over."""

    def __init__(self) -> None:
        self._fence = ""  # the marks that opened the fence in which we are
        self._line = ""
        self._tail = ""  # the last characters of the line
        self._ticks = 0

    @property
    def in_code(self) -> bool:
        """Return True in a fence, and between two ticks."""
        return bool(self._fence) or self._ticks % 2 == 1

    @property
    def is_plain(self) -> bool:
        """Return True where text is the speaker's own: no code, and no quotation."""
        return not (self.in_code or _QUOTED.match(self._line) or _FENCE.match(self._line))

    @property
    def begins_line(self) -> bool:
        return self.is_plain and not self._line.strip()

    @property
    def tail(self) -> str:
        """Return the end of the line so far."""
        return self._tail

    def pass_over(self, text: str) -> None:
        for at, piece in enumerate(text.split("\n")):
            if at:
                self._end_line()
            self._ticks += 0 if self._fence else piece.count("`")
            self._line = (self._line + piece)[:LINE_CHARS_MAX]
            self._tail = (self._tail + piece)[-LINE_CHARS_MAX:]

    def _end_line(self) -> None:
        marks = _FENCE.match(self._line)
        if marks and not self._fence:
            self._fence = marks.group(1)
        elif marks and marks.group(1).startswith(self._fence):
            self._fence = ""
        self._line, self._tail, self._ticks = "", "", 0
