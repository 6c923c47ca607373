"""Parse Markdown, as models write it, into a tree of blocks, which platforms render. Pure.

Every block is one line of the text, or several lines that belong together.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from hermes.channels.kit.chunks import SourceLine, source_lines
from hermes.channels.kit.spans import WEB_SCHEMES, Spans, parse_spans

CELLS_MAX = 20
QUOTED = "│"  # before each line that is quoted to the letter, as a command on a card is

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_ITEM = re.compile(r"([ \t]*)[-*+][ \t]+(?:\[([ xX])\][ \t]+)?(.*)", re.DOTALL)
_NUMBERED = re.compile(r"([ \t]*)(\d{1,9}[.)])[ \t]+(.*)", re.DOTALL)
_QUOTE = re.compile(r" {0,3}>[ ]?(.*)")
_MORE_QUOTES = re.compile(r"(?: {0,3}> ?)*")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
_DELIMITER = re.compile(r"[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?")
_CELL_BREAK = re.compile(r"(?<!\\)\|")
_MARKS_IN_CELL = re.compile(r"\*\*|~~|`|(?<!\w)__|__(?!\w)")


class Paragraph(Struct, frozen=True):
    """Without spans: an empty line."""

    spans: Spans


class Heading(Struct, frozen=True):
    level: int
    spans: Spans


class ListItem(Struct, frozen=True):
    """`number` is "1." or "1)", and empty for a bullet. `checked` is None without a box."""

    indent: str
    number: str
    checked: bool | None
    spans: Spans


class QuotedLine(Struct, frozen=True):
    """One line of a quote; a quote within a quote is one, too."""

    block: "LineBlock"


class CodeBlock(Struct, frozen=True):
    language: str
    code: str


class TableBlock(Struct, frozen=True):
    """Cells as plain text; rows may differ in length. `headed`: the first row is a head."""

    rows: tuple[tuple[str, ...], ...]
    headed: bool


class ThematicBreak(Struct, frozen=True):
    """A rule from one side to the other."""


LineBlock: TypeAlias = Paragraph | Heading | ListItem | QuotedLine | ThematicBreak
Block: TypeAlias = LineBlock | CodeBlock | TableBlock


def parse_markdown(text: str, schemes: tuple[str, ...] = WEB_SCHEMES) -> tuple[Block, ...]:
    """Parse a text. `schemes` are those of URLs that may be links."""
    return tuple(_blocks(text, source_lines(text), schemes))


def _blocks(text: str, lines: Sequence[SourceLine], schemes: tuple[str, ...]) -> Iterator[Block]:
    at = 0
    words = [text[line.start : line.stop].removesuffix("\n").removesuffix("\r") for line in lines]
    while at < len(lines):
        if lines[at].marker and lines[at].inside is None:
            stop = next((n for n in range(at + 1, len(lines)) if lines[n].marker), len(lines))
            yield from _code_block(words[at + 1 : stop], _fence_of(lines, at))
            at = stop + 1
        elif words[at][:1] == QUOTED:
            stop = next((n for n in range(at, len(words)) if words[n][:1] != QUOTED), len(words))
            yield CodeBlock("", "\n".join(words[at:stop]))
            at = stop
        elif rows := _table_rows(words, at):
            yield _table(words[at : at + rows])
            at += rows
        else:
            stop = at + 1
            while stop < len(lines) and _goes_on(words, lines, stop):
                stop += 1
            yield _line_block("\n".join(words[at:stop]), schemes)
            at = stop


def _fence_of(lines: Sequence[SourceLine], at: int) -> tuple[str, str]:
    """Return indent and language of the fence that begins there."""
    fence = lines[at + 1].inside if at + 1 < len(lines) else None
    return (fence.indent, fence.language) if fence else ("", "")


def _code_block(code: Sequence[str], fence: tuple[str, str]) -> Iterator[CodeBlock]:
    """Leave out blocks that show nothing."""
    indent, language = fence
    if any(line.strip() for line in code):
        yield CodeBlock(language, "\n".join(line.removeprefix(indent) for line in code))


def _goes_on(words: Sequence[str], lines: Sequence[SourceLine], at: int) -> bool:
    """Return True if this line belongs to the paragraph or the item above it."""
    above, line = words[at - 1], words[at]
    if lines[at].marker or not above.strip() or not line.strip() or line[0] == QUOTED:
        return False
    if _HEADING.fullmatch(above) or _RULE.fullmatch(above) or _QUOTE.fullmatch(above):
        return False
    return not (_begins(line) or _table_rows(words, at))


def _begins(line: str) -> bool:
    shapes = (_HEADING, _RULE, _QUOTE, _ITEM, _NUMBERED)
    return any(shape.fullmatch(line) for shape in shapes)


def _line_block(text: str, schemes: tuple[str, ...]) -> LineBlock:
    if not text.strip():
        return Paragraph(())
    if heading := _HEADING.fullmatch(text):
        words = heading[2].rstrip(" \t#")
        return Heading(len(heading[1]), parse_spans(words, schemes) if words.strip() else ())
    if _RULE.fullmatch(text):
        return ThematicBreak()
    if quote := _QUOTE.fullmatch(text):
        return QuotedLine(_line_block(_MORE_QUOTES.sub("", quote[1], count=1), schemes))
    if item := _ITEM.fullmatch(text):
        checked = item[2] in "xX" if item[2] else None
        return ListItem(item[1], "", checked, parse_spans(item[3], schemes))
    if numbered := _NUMBERED.fullmatch(text):
        return ListItem(numbered[1], numbered[2], None, parse_spans(numbered[3], schemes))
    return Paragraph(parse_spans(text, schemes))


def _table_rows(words: Sequence[str], at: int) -> int:
    """Return how many lines from here on are a table; 0 when none are."""
    first = words[at]
    delimited = at + 1 < len(words) and _is_delimiter(words[at + 1]) and "|" in first
    if not delimited and not _ROW.fullmatch(first):
        return 0
    stop = at + (2 if delimited else 1)
    while stop < len(words) and (
        "|" in words[stop] if delimited else _ROW.fullmatch(words[stop]) is not None
    ):
        stop += 1
    return stop - at if stop - at > 1 else 0


def _is_delimiter(line: str) -> bool:
    return "|" in line and "-" in line and _DELIMITER.fullmatch(line) is not None


def _table(rows: Sequence[str]) -> TableBlock:
    cells = tuple(_cells(row) for row in rows if not _is_delimiter(row))
    return TableBlock(cells, headed=len(cells) < len(rows))


def _cells(row: str) -> tuple[str, ...]:
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    cells = (cell.strip().replace("\\|", "|") for cell in _CELL_BREAK.split(inner, CELLS_MAX))
    return tuple(_MARKS_IN_CELL.sub("", cell) for cell in cells)
