"""Markdown, as models write it, to MarkdownV2: fences, tables, headings, lists, quotes. Pure.

Telegram has no headings, lists, rules or tables: a heading is bold, an item has a bullet, a table
is laid out in a block of fixed width.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from hermes.channels.chunks import SourceLine, source_lines
from hermes.channels.telegram.inline import escape, escape_code, inline

CELLS_MAX = 20
COLUMN_MAX = 40  # a wider cell sticks out; the others do not follow it
TAB = "    "

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
_ITEM = re.compile(r"([ \t]*)[-*+][ \t]+(?:\[([ xX])\][ \t]+)?(.*)", re.DOTALL)
_NUMBERED = re.compile(r"([ \t]*)(\d{1,9}[.)])[ \t]+(.*)", re.DOTALL)
_QUOTE = re.compile(r" {0,3}>[ ]?(.*)")
_MORE_QUOTES = re.compile(r"(?: {0,3}> ?)*")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
_DELIMITER = re.compile(r"[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?")
_LANGUAGE = re.compile(r"[^\w+#.-]")
_CELL_BREAK = re.compile(r"(?<!\\)\|")
_MARKS_IN_CELL = re.compile(r"\*\*|~~|`|(?<!\w)__|__(?!\w)")
_BOXES = {" ": "☐", "x": "☑", "X": "☑"}


def markdown_v2(text: str) -> str:
    """One message's worth. Every line of the result stands for one line of the text, or a block."""
    return "\n".join(_blocks(text, source_lines(text)))


def _blocks(text: str, lines: Sequence[SourceLine]) -> Iterator[str]:
    at = 0
    words = [text[line.start : line.stop].removesuffix("\n").removesuffix("\r") for line in lines]
    while at < len(lines):
        if lines[at].marker and lines[at].inside is None:
            stop = next((n for n in range(at + 1, len(lines)) if lines[n].marker), len(lines))
            yield from _code_block(words[at + 1 : stop], _fence_of(lines, at))
            at = stop + 1
        elif rows := _table_rows(words, at):
            yield _table(words[at : at + rows])
            at += rows
        else:
            stop = at + 1
            while stop < len(lines) and _goes_on(words, lines, stop):
                stop += 1
            yield _paragraph("\n".join(words[at:stop]))
            at = stop


def _fence_of(lines: Sequence[SourceLine], at: int) -> tuple[str, str]:
    """Indent and language of the fence that begins there."""
    fence = lines[at + 1].inside if at + 1 < len(lines) else None
    return (fence.indent, fence.language) if fence else ("", "")


def _code_block(code: Sequence[str], fence: tuple[str, str]) -> Iterator[str]:
    indent, language = fence
    if any(line.strip() for line in code):
        body = "\n".join(line.removeprefix(indent) for line in code)
        yield f"```{_LANGUAGE.sub('', language)}\n{escape_code(body)}\n```"


def _goes_on(words: Sequence[str], lines: Sequence[SourceLine], at: int) -> bool:
    """Does this line belong to the paragraph or the item above it?"""
    above, line = words[at - 1], words[at]
    if lines[at].marker or not above.strip() or not line.strip():
        return False
    if _HEADING.fullmatch(above) or _RULE.fullmatch(above) or _QUOTE.fullmatch(above):
        return False
    return not (_begins(line) or _table_rows(words, at))


def _begins(line: str) -> bool:
    shapes = (_HEADING, _RULE, _QUOTE, _ITEM, _NUMBERED)
    return any(shape.fullmatch(line) for shape in shapes)


def _paragraph(text: str) -> str:
    if not text.strip():
        return ""
    if heading := _HEADING.fullmatch(text):
        words = heading[2].rstrip(" \t#")
        return f"*{inline(words, frozenset({'bold'}))}*" if words.strip() else ""
    if _RULE.fullmatch(text):
        return "———"
    if quote := _QUOTE.fullmatch(text):
        return f">{_quoted(quote[1])}"
    if item := _ITEM.fullmatch(text):
        bullet = _BOXES[item[2]] if item[2] else "•"
        return f"{_indent(item[1])}{bullet} {inline(item[3])}"
    if numbered := _NUMBERED.fullmatch(text):
        return f"{_indent(numbered[1])}{escape(numbered[2])} {inline(numbered[3])}"
    return inline(text)


def _quoted(text: str) -> str:
    """A quote cannot hold another one, nor a mark that goes over its end."""
    return _paragraph(_MORE_QUOTES.sub("", text, count=1))


def _indent(space: str) -> str:
    return space.replace("\t", TAB)


def _table_rows(words: Sequence[str], at: int) -> int:
    """How many lines from here on are a table; 0 when none are."""
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


def _table(rows: Sequence[str]) -> str:
    cells = [_cells(row) for row in rows if not _is_delimiter(row)]
    columns = max((len(row) for row in cells), default=0)
    widest = (max(_width(row[n]) if n < len(row) else 0 for row in cells) for n in range(columns))
    widths = [min(width, COLUMN_MAX) for width in widest]
    laid = [_laid(row, widths) for row in cells]
    if len(cells) < len(rows) and len(laid) > 1:
        laid.insert(1, "─" * (sum(widths) + 3 * (columns - 1)))
    return f"```\n{escape_code(chr(10).join(laid))}\n```"


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    cells = [cell.strip().replace("\\|", "|") for cell in _CELL_BREAK.split(inner, CELLS_MAX)]
    return [_MARKS_IN_CELL.sub("", cell) for cell in cells]


def _laid(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False))
    return " │ ".join(padded).rstrip()


def _width(text: str) -> int:
    """Columns on a screen of fixed width, near enough."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
