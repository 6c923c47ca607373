"""Parse the marks within a line of Markdown, as models write it, into a tree of spans. Pure.

What is not clearly a mark is text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

DEPTH_MAX = 6
LABEL_CHARS_MAX = 500
URL_CHARS_MAX = 2_000
WEB_SCHEMES = ("http://", "https://", "mailto:")

_PLAIN = re.compile(r"[^\\`!\[<*_~\n]+")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_AUTOLINK = re.compile(r"<((?:https?://|mailto:)[^\s<>]+)>")
_TITLE = re.compile(r"\s+(\"[^\"]*\"|'[^']*')\s*$")

Mark = Literal["strong", "emphasis", "strike"]


class TextSpan(Struct, frozen=True):
    text: str


class CodeSpan(Struct, frozen=True):
    code: str


class MarkedSpan(Struct, frozen=True):
    """Strong, emphasized or struck out. It may stand inside of one with the same mark."""

    mark: Mark
    spans: "Spans"


class LinkSpan(Struct, frozen=True):
    """Its text, and an address with one of the allowed schemes. It holds no other link."""

    spans: "Spans"
    url: str


Span: TypeAlias = TextSpan | CodeSpan | MarkedSpan | LinkSpan
Spans: TypeAlias = tuple[Span, ...]


class _Found(NamedTuple):
    """A parsed mark, and where the text continues."""

    spans: Spans
    stop: int


@dataclass(frozen=True)
class _Scan:
    """One text at one depth. A failed search for an end is not repeated: the rest is text."""

    text: str
    schemes: tuple[str, ...]
    depth: int
    in_link: bool
    endless: set[str] = field(default_factory=set)

    def deeper(self, text: str, *, link: bool = False) -> Spans:
        return _read(_Scan(text, self.schemes, self.depth + 1, self.in_link or link))


def parse_spans(text: str, schemes: tuple[str, ...] = WEB_SCHEMES) -> Spans:
    """Parse a line. `schemes` are those of URLs that may be links; a link to another one stays
    text."""
    return _read(_Scan(text, schemes, 0, in_link=False))


def _read(scan: _Scan) -> Spans:
    text = scan.text
    out: list[Span] = []
    at = 0
    while at < len(text):
        if (plain := _PLAIN.match(text, at)) is not None:
            out.append(TextSpan(plain.group()))
            at = plain.end()
            continue
        read = _READERS.get(text[at])
        found = read(scan, at) if read is not None and scan.depth < DEPTH_MAX else None
        if found is None:
            run = _run(text, at) if text[at] in "`*_~" else 1
            found = _Found((TextSpan(text[at : at + run]),), at + run)
        out += found.spans
        at = found.stop
    return tuple(out)


def _backslash(scan: _Scan, at: int) -> _Found | None:
    after = scan.text[at + 1 : at + 2]
    if after == "\n":
        return _Found((), at + 1)
    if after and after in _PUNCTUATION:
        return _Found((TextSpan(after),), at + 2)
    return None


def _code(scan: _Scan, at: int) -> _Found | None:
    text = scan.text
    stop = _code_end(text, at)
    if not stop:
        return None
    run = _run(text, at)
    code = text[at + run : stop - run].replace("\n", " ")
    if code.strip() and code.startswith(" ") and code.endswith(" "):
        code = code[1:-1]
    return _Found((CodeSpan(code),), stop)


def _picture(scan: _Scan, at: int) -> _Found | None:
    return _link(scan, at + 1) if scan.text.startswith("![", at) else None


def _link(scan: _Scan, at: int) -> _Found | None:
    text = scan.text
    middle = _closing(text, at, "[", "]", LABEL_CHARS_MAX)
    if not middle or not text.startswith("(", middle + 1) or scan.in_link:
        return None
    stop = _closing(text, middle + 1, "(", ")", URL_CHARS_MAX)
    if not stop:
        return None
    label, url = text[at + 1 : middle], _TITLE.sub("", text[middle + 2 : stop]).strip().strip("<>")
    if not url.lower().startswith(scan.schemes) or any(char.isspace() for char in url):
        return None
    shown = scan.deeper(label, link=True) if label.strip() else (TextSpan(url),)
    return _Found((LinkSpan(shown, url),), stop + 1)


def _autolink(scan: _Scan, at: int) -> _Found | None:
    found = _AUTOLINK.match(scan.text, at)
    return _Found((TextSpan(found[1]),), found.end()) if found else None


def _emphasis(scan: _Scan, at: int) -> _Found | None:
    text = scan.text
    char, run = text[at], _run(text, at)
    if char == "_" and at > 0 and text[at - 1].isalnum():
        return None
    for length in (3, 2, 1) if char != "~" else (2,):
        if length > run or (length == 1 and run > 1):
            continue
        stop = _emphasis_end(scan, at + length, char * length)
        if not stop:
            continue
        spans = scan.deeper(text[at + length : stop])
        for mark in _MARKS[char, length]:
            spans = (MarkedSpan(mark, spans),)
        return _Found(spans, stop + length)
    return None


def _emphasis_end(scan: _Scan, start: int, marks: str) -> int:
    """Return where these marks close what began at `start`; 0 when they do not."""
    text = scan.text
    if marks in scan.endless or start >= len(text) or text[start].isspace():
        return 0
    at = start
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 2
        elif char == "`":
            at = _code_end(text, at) or at + _run(text, at)
        elif char == marks[0]:
            run = _run(text, at)
            if _closes(text, at, run, marks, start):
                return at + run - len(marks) if run > len(marks) else at
            at += run
        else:
            at += 1
    scan.endless.add(marks)
    return 0


def _closes(text: str, at: int, run: int, marks: str, start: int) -> bool:
    if at == start or text[at - 1].isspace():
        return False
    if marks[0] == "_" and text[at + run : at + run + 1].isalnum():
        return False
    return run == len(marks) or (run > len(marks) and run >= 3)


def _code_end(text: str, at: int) -> int:
    """Return the end of the code span that begins here; 0 when none does."""
    run = _run(text, at)
    stop = at + run
    while (stop := text.find("`" * run, stop)) >= 0:
        length = _run(text, stop)
        if length == run:
            return stop + run
        stop += length
    return 0


def _closing(text: str, at: int, opens: str, closes: str, most: int) -> int:
    """Return where the bracket at `at` is closed; 0 if it is not closed nearby."""
    if text.find(closes, at, at + most) < 0:
        return 0
    level = 0
    skip = False
    for n in range(at, min(len(text), at + most)):
        char = text[n]
        if skip or char == "\\":
            skip = not skip
        elif char == opens:
            level += 1
        elif char == closes:
            level -= 1
            if level == 0:
                return n
    return 0


def _run(text: str, at: int) -> int:
    stop = at
    while stop < len(text) and text[stop] == text[at]:
        stop += 1
    return stop - at


_MARKS: dict[tuple[str, int], tuple[Mark, ...]] = {  # from the inside to the outside
    ("*", 3): ("emphasis", "strong"),
    ("*", 2): ("strong",),
    ("*", 1): ("emphasis",),
    ("_", 3): ("emphasis", "strong"),
    ("_", 2): ("strong",),
    ("_", 1): ("emphasis",),
    ("~", 2): ("strike",),
}
_READERS: dict[str, Callable[[_Scan, int], _Found | None]] = {
    "\\": _backslash,
    "`": _code,
    "!": _picture,
    "[": _link,
    "<": _autolink,
    "*": _emphasis,
    "_": _emphasis,
    "~": _emphasis,
}
