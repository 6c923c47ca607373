"""Draw the blocks of an answer: every character that the model wrote, with styles for its marks."""

import re
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from hermes.tui.blocks import ITEM, MarkdownBlock, cells
from hermes.tui.inline import styled
from hermes.views.cards import QUOTE

PROSE_WIDTH_MAX = 100
CELL_WIDTH_MIN, COLUMNS_MAX = 6, 30
TAB, CODE_TAB = 8, 4
# Lines that are laid out by their writer: columns, tabs, boxes. They have the whole width.
_ALIGNED = re.compile(r"\S {2,}\S|\t|[\u2500-\u259f]")
_QUOTE = re.compile(r"[ \t]*(?:>[ \t]?)+")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_CHANGES = {f"{QUOTE}+": "hermes.added", f"{QUOTE}-": "hermes.removed"}
_INDENT = re.compile(r"[ \t]*")


def draw(console: Console, block: MarkdownBlock, code_theme: str, *, folded: bool) -> None:
    """Draw a block. With `folded`, long code lines are cut into rows here; else the terminal wraps
    them, so that they are copied whole."""
    match block:
        case MarkdownBlock(kind="code", text=text, detail=info):
            if info:
                console.print(Text(info, style="hermes.quiet"), soft_wrap=True)
            console.print(_code(text, info, code_theme), soft_wrap=not folded, no_wrap=False)
        case MarkdownBlock(kind="heading", text=text, detail=marks):
            style = "hermes.title" if len(marks) == 1 else "hermes.heading"
            console.print(_inline(text, style))
        case MarkdownBlock(kind="rule"):
            console.print(Text("─" * min(console.width, PROSE_WIDTH_MAX), style="hermes.quiet"))
        case MarkdownBlock(kind="table", text=text):
            rows = [cells(line) for line in text.split("\n")]
            if _fits(rows, console.width):
                console.print(_table(rows))
            else:
                draw_lines(console, text)
        case MarkdownBlock(text=text):
            _prose(console, text.split("\n"))


def draw_lines(console: Console, text: str, style: str = "") -> None:
    """Draw text without Markdown, line by line, wrapped at words. A diff, which stands behind a
    bar, has its colours."""
    for line in text.split("\n"):
        _wrapped(console, Text(line, style=style or _CHANGES.get(line[: len(QUOTE) + 1], "")))


def _prose(console: Console, lines: Sequence[str]) -> None:
    for n, line in enumerate(lines):
        below = lines[n + 1] if n + 1 < len(lines) else ""
        if n and _UNDERLINE.match(line):
            console.print(Text(line, style="hermes.quiet"))
        elif (quote := _QUOTE.match(line)) is not None:
            drawn = Text().append(quote[0], style="hermes.quiet")
            drawn.append_text(_inline(line[quote.end() :], "hermes.quiet"))
            _wrapped(console, drawn, quote.end())
        elif (item := ITEM.match(line)) is not None:
            drawn = Text().append(item[0], style="hermes.bullet")
            drawn.append_text(_inline(line[item.end() :]))
            _wrapped(console, drawn, item.end())
        else:
            style = "hermes.heading" if below and _UNDERLINE.match(below) else ""
            _wrapped(console, _inline(line, style))


def _wrapped(console: Console, line: Text, hang: int = 0) -> None:
    """Draw one line in rows that end between words; further rows hang below the text of the first.
    Leading spaces stay."""
    line.expand_tabs(TAB)
    aligned = _ALIGNED.search(line.plain.lstrip())
    width = console.width if aligned else min(console.width, PROSE_WIDTH_MAX)
    start = _INDENT.match(line.plain)
    hang = max(hang, start.end() if start is not None else 0)
    if hang > width // 2:
        hang = 0
    head, rest = line[:hang], line[hang:]
    rows = rest.wrap(console, width - hang, justify="left", overflow="fold", tab_size=TAB)
    for n, row in enumerate(rows or [Text()]):
        row.rstrip()
        console.print((head if n == 0 else Text(" " * hang)) + row, soft_wrap=True)


def _inline(line: str, style: str = "") -> Text:
    drawn = Text(style=style)
    for text, styles in styled(line):
        piece = Text(text)
        for each in styles:
            piece.stylize(f"hermes.inline.{each}")
        drawn.append_text(piece)
    return drawn


def _code(text: str, info: str, theme: str) -> Text:
    """Return coloured code where the language is known, and only if colouring leaves the text
    unchanged."""
    language = next(iter(info.split()), "").rstrip("{:,")
    plain = text.expandtabs(CODE_TAB if language else TAB)
    if language:
        drawn = Syntax(plain, language, theme=theme).highlight(plain)
        drawn.rstrip()
        if drawn.plain == plain.rstrip():
            return drawn
    return Text(plain.rstrip(), style="hermes.inline.code")


def _fits(rows: Sequence[Sequence[str]], width: int) -> bool:
    columns = len(rows[0])
    narrow = columns * (CELL_WIDTH_MIN + 3) > width
    return columns <= COLUMNS_MAX and not narrow and all(len(row) <= columns for row in rows)


def _table(rows: Sequence[Sequence[str]]) -> Table:
    header, marks, *body = rows
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        header_style="bold",
        border_style="hermes.quiet",
    )
    for title, mark in zip(header, marks, strict=True):
        sides = (mark.startswith(":"), mark.endswith(":"))
        justify = "center" if all(sides) else "right" if sides[1] else "left"
        table.add_column(_inline(title), justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in body:
        table.add_row(*_padded(row, len(header)))
    return table


def _padded(row: Sequence[str], count: int) -> Iterator[Text]:
    yield from (_inline(cell) for cell in row)
    yield from (Text() for _ in range(count - len(row)))
