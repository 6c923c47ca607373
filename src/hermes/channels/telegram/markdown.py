"""Render a Markdown tree as MarkdownV2. Pure.

Telegram has no headings, lists, rules or tables: a heading is bold, an item has a bullet, a table
is a block of fixed width.
"""

import re
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
from hermes.channels.kit.plain import BREAK, fixed_width, item_lead
from hermes.channels.telegram.inline import SCHEMES, escape, escape_code, render_spans

_LANGUAGE = re.compile(r"[^\w+#.-]")


def markdown_v2(text: str) -> str:
    """Render one message. Every line of the result is one line of the text, or a block."""
    return "\n".join(_render_block(block) for block in parse_markdown(text, SCHEMES))


def _render_block(block: Block) -> str:
    match block:
        case Paragraph(spans=spans):
            return render_spans(spans)
        case Heading(spans=spans):
            return f"*{render_spans(spans, frozenset({'strong'}))}*" if spans else ""
        case ListItem(spans=spans):
            return f"{item_lead(block, escape)} {render_spans(spans)}"
        case QuotedLine(block=inner):
            return f">{_render_block(inner)}"
        case CodeBlock(language=language, code=code):
            return _fenced(code, _LANGUAGE.sub("", language))
        case TableBlock():
            return _fenced(fixed_width(block))
        case ThematicBreak():
            return BREAK
        case _:
            assert_never(block)


def _fenced(code: str, language: str = "") -> str:
    return f"```{language}\n{escape_code(code)}\n```"
