"""Split long texts into pieces that a platform accepts. Pure, and the same for every channel.

The bodies of the pieces, joined, are the text. A code fence that is open at the end of a piece is
closed in its tail and opened again in the next lead.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence

from msgspec import Struct

LIMIT_MIN = 512  # room for a fence on both sides of the longest cluster, each character escaped
CLUSTER_MAX = 32  # what is longer than this many code points may be cut
MARKER_MAX = 60  # a longer line neither opens nor closes a fence

_OPENER = re.compile(r"([ \t]*)(`{3,}(?=[^`]*$)|~{3,})(.*)")
_BLOCK_STARTS = frozenset("#>|-+*=~`")  # at the beginning of a line they would mean something
_ZWJ = "\u200d"
_PREPEND = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd"
    "\U000111c2\U000111c3\U0001193f\U00011941\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88"
    "\U00011a89\U00011d46"
)
_VIRAMA = 9  # the combining class of what joins two consonants


class CodeFence(Struct, frozen=True):
    """An open code fence: the line that opened it, and the marks that close it."""

    opening: str
    indent: str
    marks: str
    language: str

    def closed_by(self, line: str) -> bool:
        bare = line.strip()
        same = len(bare) >= len(self.marks) and set(bare) == {self.marks[0]}
        return same and len(line) <= MARKER_MAX


class SourceLine(Struct, frozen=True):
    """text[start:stop] with its line end; `inside` is the fence that is open at its start."""

    start: int
    stop: int
    inside: CodeFence | None
    marker: bool  # it opens or closes a fence


class Piece(Struct, frozen=True):
    lead: str
    body: str
    tail: str

    @property
    def text(self) -> str:
        return f"{self.lead}{self.body}{self.tail}"


def utf16_units(text: str) -> int:
    """Return the length in UTF-16 units, as some platforms count."""
    return len(text) + sum(char > "\uffff" for char in text)


def source_lines(text: str) -> list[SourceLine]:
    """Return every line of a text, and which of them are code."""
    lines: list[SourceLine] = []
    start, inside = 0, None
    while start < len(text):
        stop = text.find("\n", start) + 1 or len(text)
        line = text[start:stop].rstrip()
        if inside is None:
            opened = _opened(line)
            lines.append(SourceLine(start, stop, None, opened is not None))
            inside = opened
        else:
            closed = inside.closed_by(line)
            lines.append(SourceLine(start, stop, inside, closed))
            inside = None if closed else inside
        start = stop
    return lines


def split(text: str, limit: int, measure: Callable[[str], int] = len) -> tuple[Piece, ...]:
    """Split the text into pieces, none of which measures more than `limit`.

    `measure` returns the size of a piece on the wire; a character may take at most four units. A
    cut is made between paragraphs if possible, else between lines, then words, and never inside a
    grapheme.
    """
    if limit < LIMIT_MIN:
        raise ValueError(f"a limit of {limit} is below {LIMIT_MIN}")
    source = _Source(text)
    pieces: list[Piece] = []
    at = 0
    while at < len(text):
        pieces.append(_next(source, at, limit, measure))
        at += len(pieces[-1].body)
    return tuple(pieces)


def first_part(text: str, limit: int, measure: Callable[[str], int] = len) -> str:
    """Return as much of the beginning as fits, cut between graphemes."""
    stop = min(len(text), limit)
    while stop > 0:
        stop = _cluster_end(text, 0, stop) if stop < len(text) else stop
        over = measure(text[:stop]) - limit
        if over <= 0 or stop <= CLUSTER_MAX:
            break
        stop -= max(1, over // 4)
    return text[:stop]


def joined(text: str, at: int) -> bool:
    """Return True if the characters on both sides of `at` belong to one grapheme."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if after < "\u0300" and before < "\u0300":  # nearly always, and cheap
        return before == "\r" and after == "\n"
    kind, kind_before = unicodedata.category(after), unicodedata.category(before)
    if kind_before in ("Cc", "Zl", "Zp") or kind in ("Cc", "Zl", "Zp"):
        return False
    if kind in ("Mn", "Me", "Mc", "Cn") or _extends(after):  # Cn: perhaps a mark that is new
        return True
    if before == _ZWJ or before in _PREPEND:
        return True
    if unicodedata.combining(before) == _VIRAMA and kind == "Lo":
        return True
    if _is_regional(before) and _is_regional(after):
        return _regionals_before(text, at) % 2 == 1
    return _is_jamo_pair(before, after)


class _Source:
    """A text with its lines, for looking up where one may cut."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = source_lines(text)
        self._starts = [line.start for line in self.lines]

    def line_at(self, at: int) -> SourceLine:
        return self.lines[bisect_right(self._starts, at) - 1]

    def starts(self, low: int, high: int) -> Sequence[SourceLine]:
        """Yield the lines that begin in (low, high], the last one first."""
        found = self.lines[bisect_right(self._starts, low) : bisect_right(self._starts, high)]
        return found[::-1]

    def is_blank_before(self, start: int) -> bool:
        line = self.line_at(start - 1)
        return not self.text[line.start : line.stop].strip()

    def misread(self, at: int, stop: int) -> bool:
        """Return True if a line that is cut here, in a piece from `at`, would open or close a
        fence."""
        line = self.line_at(stop)
        if stop in (line.start, len(self.text)):
            return False
        halves = self.text[max(at, line.start) : stop], self.text[stop : line.stop]
        if line.marker:
            return True
        if line.inside is not None:
            return any(line.inside.closed_by(half.rstrip()) for half in halves)
        return any(_opened(half.rstrip()) for half in halves)

    def fence_at(self, at: int) -> CodeFence | None:
        return self.line_at(at).inside if at < len(self.text) else None

    def piece(self, at: int, stop: int) -> Piece:
        before, after = self.fence_at(at), self.fence_at(stop)
        body = self.text[at:stop]
        lead = f"{before.opening}\n" if before else ""
        closing = f"{after.indent}{after.marks}" if after else ""
        gap = "" if not closing or body.endswith("\n") else "\n"
        return Piece(lead, body, gap + closing)


def _next(source: _Source, at: int, limit: int, measure: Callable[[str], int]) -> Piece:
    size = limit
    while True:
        stop = _cut(source, at, at + size)
        piece = source.piece(at, stop)
        units = measure(piece.text)
        if units <= limit or size == 1:
            return piece
        size = max(1, min(size - 1, (stop - at) * limit * 19 // (units * 20)))


def _cut(source: _Source, at: int, most: int) -> int:
    """Return the best place to cut in (at, most], or the first one after it."""
    text = source.text
    if most >= len(text):
        return len(text)
    low = at + (most - at) // 2
    borders = source.starts(low, most)
    outside = [line.start for line in borders if line.inside is None]
    paragraphs = (start for start in outside if source.is_blank_before(start))
    inside = (line.start for line in borders if not line.marker and not _heads(source, line))
    for found in (next(paragraphs, 0), next(iter(outside), 0), next(inside, 0)):
        if found:
            return found
    return _cut_in_line(source, at, low, most)


def _cut_in_line(source: _Source, at: int, low: int, most: int) -> int:
    """Cut after a word, else between graphemes, where neither side reads as a fence afterwards."""
    text = source.text
    for stop in range(most, low + 1, -1):
        word = text[stop - 1].isspace() and text[stop] not in _BLOCK_STARTS
        if word and not joined(text, stop) and not source.misread(at, stop):
            return stop
    stop = _cluster_end(text, at, most)
    while source.misread(at, stop):
        earlier = _cluster_end(text, at, stop - 1) if stop > at + 1 else stop
        if earlier >= stop:
            return source.line_at(stop).stop  # what reads as a fence is short
        stop = earlier
    return stop


def _heads(source: _Source, line: SourceLine) -> bool:
    """Return True for the first line of a fence: a cut before it would leave an empty fence."""
    return line.start > 0 and source.line_at(line.start - 1).marker


def _cluster_end(text: str, at: int, most: int) -> int:
    """Return the last border between graphemes in (at, most], or the first one after it."""
    most = max(most, at + 1)
    for stop in range(most, max(at, most - CLUSTER_MAX), -1):
        if not joined(text, stop):
            return stop
    if most - at >= CLUSTER_MAX:
        return most
    return next((n for n in range(most, at + CLUSTER_MAX) if not joined(text, n)), at + CLUSTER_MAX)


def _opened(line: str) -> CodeFence | None:
    found = _OPENER.fullmatch(line) if len(line) <= MARKER_MAX else None
    if found is None:
        return None
    words = found[3].split()
    return CodeFence(line, found[1], found[2], words[0] if words else "")


def _extends(char: str) -> bool:
    """Return True for joiners, tags, skin tones, and vowels that Unicode counts as letters."""
    return (
        char in "\u0e33\u0eb3\u200c\u200d\uff9e\uff9f"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regionals_before(text: str, at: int) -> int:
    count = 0
    while at > count and _is_regional(text[at - 1 - count]):
        count += 1
    return count


def _is_jamo_pair(before: str, after: str) -> bool:
    """Return True for Hangul letters that form one syllable."""
    leads = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c"
    syllable = "\uac00" <= before <= "\ud7a3"
    later = "\u1160" <= before <= "\u11ff" or "\ud7b0" <= before <= "\ud7fb"
    follows = "\u1160" <= after <= "\u11ff" or "\ud7b0" <= after <= "\ud7fb"
    starts = (
        "\u1100" <= after <= "\u115f"
        or "\ua960" <= after <= "\ua97c"
        or "\uac00" <= after <= "\ud7a3"
    )
    return (follows and (leads or syllable or later)) or (leads and starts)
