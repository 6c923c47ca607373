"""Wrap text at words for a terminal, whole or streamed. Pure, and cheap to load.

A word that is longer than the line is left to the terminal, so that it can be copied.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from typing import TextIO

WIDTH, WIDTH_MIN = 80, 8
FENCES = ("```", "~~~")
# A name, two blanks or more, and what it means: what follows goes under the meaning.
_COLUMNS = re.compile(r"(?: +\S+(?: \S+)*? {2,}|\S+(?: \S+)*? {3,})(?=\S)")
_ITEM = re.compile(r" *(?:[-*•] +|\d{1,3}[.)] +)?")
_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


def width_of(stream: TextIO, columns: str = "") -> int:
    """Return how many cells a line of this terminal has; `columns` is the fallback."""
    try:
        found = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        found = int(columns) if columns.isdecimal() else 0
    return max(found, WIDTH_MIN) if found else WIDTH


def cells_of(text: str) -> int:
    """Return how many terminal cells the text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 0 if unicodedata.category(char) in ("Mn", "Me", "Cf") else 1


def wrapped(text: str, width: int) -> str:
    """Wrap every line at words; continuation lines are indented to match."""
    return "\n".join(piece for line in text.split("\n") for piece in wrapped_line(line, width))


def wrapped_line(line: str, width: int) -> list[str]:
    if cells_of(line) <= width:
        return [line]
    lead = _lead(line, width)
    lines, current = list[str](), line[: len(line) - len(line.lstrip(" "))]
    column, gap = len(current), ""
    for piece in _words(line[len(current) :]):
        if piece.isspace():
            gap = piece
        elif column + len(gap) + cells_of(piece) <= width or not current.strip():
            current += gap + piece
            column += len(gap) + cells_of(piece)
            gap = ""
        else:
            lines.append(current)
            current, gap = f"{lead}{piece}", ""
            column = cells_of(current)
    return [*lines, current]


def _lead(line: str, width: int) -> str:
    """Return the indentation of continuation lines: under the second column, an item's text, or the
    line."""
    columns, item = _COLUMNS.match(line), _ITEM.match(line)
    for found in (columns, item):
        if found is not None and found.end() <= width // 2:
            return " " * found.end()
    return ""


def _words(text: str) -> Iterator[str]:
    """Yield spaces and words; a line may be broken beside every wide character."""
    for piece in _PIECES.findall(text):
        if piece.isspace() or piece.isascii():
            yield piece
            continue
        word = ""
        for char in piece:
            if unicodedata.east_asian_width(char) in "WF":
                yield from (word, char) if word else (char,)
                word = ""
            else:
                word += char
        if word:
            yield word


class StreamWrapper:
    """Wrap text that comes in pieces: a word is shown once it is complete. Code between fences is
    left as it is."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._word = ""
        self._gap = ""
        self._line = ""  # the beginning of this line, to see a fence
        self._fenced = False
        self._overlong = False  # in a word that is longer than the line

    def feed(self, text: str) -> str:
        """Take a piece. Return what can be shown now."""
        return "".join(shown for piece in _words(text) for shown in self._take(piece))

    def end(self) -> str:
        """Return the rest. The next text begins a new line."""
        shown = "".join(self._place())
        self._column, self._gap, self._line = 0, "", ""
        self._fenced = self._overlong = False
        return shown

    def _take(self, piece: str) -> Iterator[str]:
        if piece.isspace():
            self._overlong = False
        if piece == "\n":
            yield from self._place()
            if self._line.startswith(FENCES):
                self._fenced = not self._fenced
            self._column, self._gap, self._line = 0, "", ""
            yield "\n"
            return
        self._line += piece if len(self._line) < len(FENCES[0]) else ""
        if self._fenced or self._line.startswith(FENCES):
            yield from self._place()
            yield self._gap + piece
            self._gap = ""
        elif piece.isspace():
            yield from self._place()
            self._gap += piece
        elif self._overlong:
            self._column += cells_of(piece)
            yield piece
        elif cells_of(piece) == 2 * len(piece):
            yield from self._place()
            self._word = piece
            yield from self._place()
        else:
            self._word += piece
            if cells_of(self._word) > self._width:
                self._overlong = True
                yield from self._place()

    def _place(self) -> Iterator[str]:
        if not self._word:
            return
        size = cells_of(self._word)
        if self._column and self._column + len(self._gap) + size > self._width:
            yield "\n"
            self._column, self._gap = 0, ""
        yield self._gap + self._word
        self._column += len(self._gap) + size
        self._word, self._gap = "", ""
