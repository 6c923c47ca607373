"""Spans of Markdown to MarkdownV2. Pure.

Every reserved character of what is text is escaped. Text pings nobody (P9): an @name gets an
invisible character behind its @, and a link that mentions a person is only its words.
"""

import re
from typing import assert_never

from hermes.channels.kit.spans import (
    WEB_SCHEMES,
    CodeSpan,
    LinkSpan,
    Mark,
    MarkedSpan,
    Span,
    Spans,
    TextSpan,
)

JOINER = "\u2060"  # invisible; Telegram sees no name behind it
PINGS = "tg://user"
SCHEMES = (*WEB_SCHEMES, "tg://")

_RESERVED = re.compile(r"([_*\[\]()~`>#+\-=|{}.!\\])")
_MENTION = re.compile(r"(?<![\w@/])@(?=[A-Za-z]|$)")
_IN_CODE = re.compile(r"([`\\])")
_IN_URL = re.compile(r"([)\\])")
_ESCAPED = r"\\\1"
_SIGNS: dict[Mark, str] = {"strong": "*", "emphasis": "_", "strike": "~"}


def escape(text: str) -> str:
    return _RESERVED.sub(_ESCAPED, text)


def escape_code(text: str) -> str:
    return _IN_CODE.sub(_ESCAPED, text)


def render_spans(spans: Spans, inside: frozenset[Mark] = frozenset()) -> str:
    """Render spans. `inside` are the marks that are open already: they cannot be nested in
    themselves."""
    out: list[str] = []
    for span in spans:
        shown = _render_span(span, inside)
        out.append(shown[1:-1] if _clashes(out, shown) else shown)
    return "".join(out)


def _render_span(span: Span, inside: frozenset[Mark]) -> str:
    match span:
        case TextSpan(text=text):
            return escape(_MENTION.sub(f"@{JOINER}", text))
        case CodeSpan(code=code):
            return f"`{escape_code(code)}`"
        case LinkSpan(spans=spans, url=url) if url.lower().startswith(PINGS):
            return render_spans(spans, inside)
        case LinkSpan(spans=spans, url=url):
            return f"[{render_spans(spans, inside)}]({_IN_URL.sub(_ESCAPED, url)})"
        case MarkedSpan(mark=mark, spans=spans):
            sign = "" if mark in inside else _SIGNS[mark]
            return f"{sign}{render_spans(spans, inside | {mark})}{sign}"
        case _:
            assert_never(span)


def _clashes(out: list[str], shown: str) -> bool:
    """Return True for two italics side by side, which would read as an underline."""
    before = next((one for one in reversed(out) if one), "")
    if not shown.startswith("_") or not before.endswith("_"):
        return False
    bare = before[:-1].rstrip("\\")
    return (len(before) - 1 - len(bare)) % 2 == 0
