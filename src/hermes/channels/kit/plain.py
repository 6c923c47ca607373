"""Render a Markdown tree as plain text, and tables in columns of fixed width. Pure."""

import unicodedata
from collections.abc import Callable, Sequence
from typing import assert_never

from hermes.channels.kit.markdown import (
    Block,
    CodeBlock,
    Heading,
    ListItem,
    Paragraph,
    QuotedLine,
    TableBlock,
    ThematicBreak,
    parse_markdown,
)
from hermes.channels.kit.spans import CodeSpan, LinkSpan, MarkedSpan, Span, Spans, TextSpan

COLUMN_MAX = 40  # a wider cell sticks out; the others do not follow it
TAB = "    "
BREAK = "———"


def plain_text(text: str) -> str:
    """Return Markdown as a platform without any marks shows it."""
    return "\n".join(_plain_block(block) for block in parse_markdown(text))


def plain_spans(spans: Spans) -> str:
    """Return the text; a link is followed by its URL, unless that is its text."""
    return "".join(_plain_span(span) for span in spans)


def item_lead(item: ListItem, escape: Callable[[str], str] = str) -> str:
    """Return what comes before an item: its indent, and a bullet, a box or its number."""
    mark = escape(item.number) if item.number else "•"
    if item.checked is not None:
        mark = "☑" if item.checked else "☐"
    return item.indent.replace("\t", TAB) + mark


def fixed_width(table: TableBlock) -> str:
    """Lay out a table for a font of fixed width."""
    columns = max((len(row) for row in table.rows), default=0)
    widest = (
        max(_width(row[n]) if n < len(row) else 0 for row in table.rows) for n in range(columns)
    )
    widths = [min(width, COLUMN_MAX) for width in widest]
    laid = [_laid(row, widths) for row in table.rows]
    if table.headed and len(laid) > 1:
        laid.insert(1, "─" * (sum(widths) + 3 * (columns - 1)))
    return "\n".join(laid)


def _plain_block(block: Block) -> str:
    match block:
        case Paragraph(spans=spans) | Heading(spans=spans):
            return plain_spans(spans)
        case ListItem():
            return f"{item_lead(block)} {plain_spans(block.spans)}"
        case QuotedLine(block=inner):
            return f"> {_plain_block(inner)}"
        case CodeBlock(code=code):
            return code
        case TableBlock():
            return fixed_width(block)
        case ThematicBreak():
            return BREAK
        case _:
            assert_never(block)


def _plain_span(span: Span) -> str:
    match span:
        case TextSpan(text=text):
            return text
        case CodeSpan(code=code):
            return code
        case MarkedSpan(spans=spans):
            return plain_spans(spans)
        case LinkSpan(spans=spans, url=url):
            shown = plain_spans(spans)
            return shown if shown == url else f"{shown} ({url})"
        case _:
            assert_never(span)


def _laid(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False))
    return " │ ".join(padded).rstrip()


def _width(text: str) -> int:
    """Return the number of columns on a screen, approximately."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
