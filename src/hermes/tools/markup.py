"""HTML as a row of tokens, cut where browsers cut it.

Python's own parser takes time in the square of a hostile page's length (13 s for 24 kB of unclosed
tags), so this one goes over the text once: what has no end goes to the end of the page.
"""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Final

from msgspec import Struct, field

from hermes.lazy import LazyPattern

ATTRIBUTES_MAX: Final = 64
VALUE_CHARS_MAX: Final = 4_000
# Their content is no markup, until their own end tag.
RAW: Final = frozenset(
    ("script", "style", "xmp", "iframe", "noembed", "noframes", "noscript", "textarea", "title")
)
_TAG: Final = LazyPattern(r"<(/?)([a-zA-Z][^\s/>]*)")
_NAME: Final = LazyPattern(r"[\s/]*(>|[^\s/>][^\s/>=]*)(\s*=\s*)?")
_BARE: Final = LazyPattern(r"[^\s>]*")
_COMMENT_END: Final = LazyPattern(r"--!?>")
_ENDS: Final[Mapping[str, LazyPattern]] = {
    name: LazyPattern(rf"</{name}(?=[\s/>])", re.I) for name in RAW
}
_INNER_SCRIPT: Final = LazyPattern(r"<script(?=[\s/>])", re.I)


class MarkupText(Struct, frozen=True):
    text: str
    raw: bool = False  # of an element whose content is no markup


class OpeningTag(Struct, frozen=True):
    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)


class ClosingTag(Struct, frozen=True):
    name: str


class MarkupComment(Struct, frozen=True):
    text: str


Token = MarkupText | OpeningTag | ClosingTag | MarkupComment


def tokens(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        begin = source.find("<", at)
        if begin < 0:
            yield MarkupText(unescape(source[at:]))
            return
        if begin > at:
            yield MarkupText(unescape(source[at:begin]))
        tag = _TAG.match(source, begin)
        if tag is not None:
            name = tag[2].lower()
            attributes, at = _attributes(source, tag.end())
            if at < 0:
                return  # a tag without an end is none, and nothing comes after it
            if tag[1]:
                yield ClosingTag(name)
                continue
            yield OpeningTag(name, attributes)
            if name in RAW:
                end = _raw_end(source, at, name)
                yield MarkupText(source[at:end], raw=True)
                at = end
        elif source.startswith(("<!", "<?", "</"), begin):
            text, at = _remark(source, begin)
            yield MarkupComment(text)
        else:
            yield MarkupText("<")
            at = begin + 1


def _attributes(source: str, at: int) -> tuple[Mapping[str, str], int]:
    """Those of a tag, and where it ends; -1 when it does not."""
    found: dict[str, str] = {}
    while (name := _NAME.match(source, at)) is not None:
        at = name.end()
        if name[1] == ">":
            return found, name.end(1)
        value = ""
        if name[2]:
            quote = source[at : at + 1]
            if quote in ("'", '"') and quote:
                end = source.find(quote, at + 1)
                if end < 0:
                    return found, -1
                value, at = source[at + 1 : end], end + 1
            elif (bare := _BARE.match(source, at)) is not None:
                value, at = bare[0], bare.end()
        if len(found) < ATTRIBUTES_MAX:
            found.setdefault(name[1].lower(), unescape(value[:VALUE_CHARS_MAX]))
    return found, -1


def _remark(source: str, begin: int) -> tuple[str, int]:
    if source.startswith("<!--", begin):
        end = _COMMENT_END.search(source, begin + 2)
        stop = len(source) if end is None else end.end()
        return source[begin:stop], stop
    stop = source.find(">", begin)
    return (source[begin:], len(source)) if stop < 0 else ("", stop + 1)


def _raw_end(source: str, at: int, name: str) -> int:
    """Where its end tag begins. Within a comment a script may hold another whole one."""
    while True:
        end = _ENDS[name].search(source, at)
        if end is None:
            return len(source)
        remark = source.rfind("<!--", at, end.start()) if name == "script" else -1
        if (
            remark < 0
            or source.find("-->", remark, end.start()) >= 0
            or _INNER_SCRIPT.search(source, remark, end.start()) is None
        ):
            return end.start()
        at = source.find("-->", end.end())
        if at < 0:
            return len(source)
