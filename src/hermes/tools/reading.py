"""A page as text that a model reads: what a person would see of it, and a word on what was hidden.

Pure. Headings, lists, code and links stay recognisable; scripts, styles and hidden text go.
"""

import re
from collections import Counter
from html import unescape
from itertools import islice
from typing import Final
from urllib.parse import urljoin

from msgspec import Struct

from hermes.text.quoting import bared
from hermes.tools.markup import ClosingTag, MarkupComment, MarkupText, OpeningTag, Token, tokens
from hermes.tools.nesting import BLOCKS, VOID, Element, Nesting, Tangled
from hermes.tools.unshown import NEVER_SHOWN, Unshown

SOURCE_CHARS_MAX: Final = 2_000_000
TOKENS_MAX: Final = 150_000
LINKS_MAX: Final = 300
TITLE_CHARS_MAX: Final = 300
LINK_CHARS_MAX: Final = 2_000
ALT_CHARS_MAX: Final = 200
_SHEET: Final = re.compile("<style", re.I)
_ROOTS: Final = frozenset(("html", "head", "body"))
_ROWS: Final = frozenset(("tr", "caption", "option", "br"))
_PLAIN_LINK: Final = re.compile(r"https?://[^\s\"'<>\\^`{|}]{3,2000}", re.I)
_BLANK_LINES: Final = re.compile(r"\n{3,}")
_TRAILING: Final = re.compile(r"[ \t]+\n")


class ReadableText(Struct, frozen=True, kw_only=True):
    text: str
    title: str = ""
    links: tuple[str, ...] = ()  # those that can be seen, in their order
    left_out: str = ""  # in words; empty when nothing was hidden


def read_text(text: str) -> ReadableText:
    """What is no markup stays as it is, but for what cannot be seen."""
    shown, unseen = bared(text)
    links = tuple(dict.fromkeys(_PLAIN_LINK.findall(shown)[:LINKS_MAX]))
    return ReadableText(text=shown, links=links, left_out=_told(Counter(unseen=unseen)))


def read_page(source: str, url: str) -> ReadableText:
    reader, page = _Reader(url), source[:SOURCE_CHARS_MAX]
    if _SHEET.search(page):  # a sheet may stand after what it hides
        for token in islice(tokens(page), TOKENS_MAX):
            if isinstance(token, MarkupText) and token.raw and reader.last == "style":
                reader.unshown.read(token.text)
            reader.last = token.name if isinstance(token, OpeningTag) else ""
    row = tokens(page)
    try:
        for token in islice(row, TOKENS_MAX):
            reader.take(token)
    except Tangled:
        return reader.reading(cut=True)
    return reader.reading(cut=len(source) > len(page) or next(row, None) is not None)


class _Reader:
    def __init__(self, url: str) -> None:
        self.unshown = Unshown()
        self.last = ""  # the tag just opened
        self._url = url
        self._nesting = Nesting()
        self._out: list[str] = []
        self._wants_space = False
        self._title = ""
        self._links: dict[str, None] = {}
        self._link_begins: list[int] = []
        self._counts: list[int] = []  # of the lists that are open; -1: not numbered
        self._hidden: Counter[str] = Counter()
        self._noted = False  # that the element we are in is hidden

    def take(self, token: Token) -> None:
        match token:
            case MarkupText():
                self._text(token)
            case OpeningTag():
                self._opened(token)
            case ClosingTag(name):
                self._ended(self._nesting.close(name))
                if name == "p":
                    self._break(2)
            case MarkupComment(text):
                self._hidden["remarks"] += bool(text)
        self.last = token.name if isinstance(token, OpeningTag) else ""

    def reading(self, *, cut: bool) -> ReadableText:
        text = _BLANK_LINES.sub("\n\n", _TRAILING.sub("\n", "".join(self._out))).strip()
        if cut:
            text += "\n[the page continues; it is too long or too deeply nested to read further]"
        return ReadableText(
            text=text,
            title=self._title,
            links=tuple(self._links)[:LINKS_MAX],
            left_out=_told(self._hidden),
        )

    def _text(self, token: MarkupText) -> None:
        if token.raw:
            if self.last == "title" and not self._title:
                self._title = " ".join(self._bared(unescape(token.text)).split())[:TITLE_CHARS_MAX]
            elif self.last == "noscript" and re.search(r">[^<]*\w[^<]*<|^[^<]*\w", token.text):
                self._hidden["elements"] += 1
            elif self.last in ("textarea", "xmp") and not self._nesting.hidden:
                self._say(unescape(token.text) if self.last == "textarea" else token.text)
            return
        if self._nesting.hidden:
            if not self._noted and token.text.strip():
                self._noted = True
                self._hidden["elements"] += 1
            return
        self._say(token.text)

    def _say(self, text: str) -> None:
        text = self._bared(text)
        if self._nesting.has("pre"):
            self._put(text)
            return
        words = text.split()
        if not words:
            self._wants_space |= bool(text)
            return
        self._wants_space |= text[0].isspace()
        self._put(" ".join(words))
        self._wants_space = text[-1].isspace()

    def _put(self, text: str) -> None:
        if self._wants_space and self._out and not self._out[-1].endswith(("\n", " ")):
            self._out.append(" ")
        self._wants_space = False
        self._out.append(text)

    def _bared(self, text: str) -> str:
        shown, unseen = bared(text)
        self._hidden["unseen"] += unseen
        return shown

    def _break(self, lines: int) -> None:
        self._wants_space = False
        if self._out:
            self._out.append("\n" * lines)

    def _opened(self, element: OpeningTag) -> None:
        name = element.name
        if name in _ROOTS:
            return
        self._ended(self._nesting.make_room(name))
        hidden = self.unshown.covers(element)
        if not (hidden or self._nesting.hidden):
            self._begun(element)
        if name in VOID:
            return
        if not self._nesting.hidden and hidden:
            self._noted = name in NEVER_SHOWN
        href = element.attributes.get("href", "") if name == "a" else ""
        self._nesting.push(name, hidden=hidden, href=href)

    def _begun(self, element: OpeningTag) -> None:
        name, given = element.name, element.attributes
        if name in ("ul", "ol", "menu"):
            self._counts.append(0 if name == "ol" else -1)
        if name in _ROWS or name == "li":
            self._break(1)
        elif name in BLOCKS:
            self._break(2)
        if name == "li":
            self._put(f"{'  ' * max(len(self._counts) - 1, 0)}{self._numbered()}")
        elif name == "hr":
            self._put("---\n\n")
        elif len(name) == 2 and name[0] == "h" and name[1] in "123456":
            self._put(f"{'#' * int(name[1])} ")
        elif name == "pre":
            self._put("```\n")
        elif name == "code" and not self._nesting.has("pre"):
            self._put("`")
        elif name in ("td", "th"):
            self._wants_space = False
            self._out.append("| ")
        elif name == "a":
            self._link_begins.append(len(self._out))
        elif name == "img" and given.get("alt", "").strip():
            alt = " ".join(self._bared(given["alt"]).split())
            self._put(f"[image: {alt[:ALT_CHARS_MAX]}]")

    def _numbered(self) -> str:
        if not self._counts or self._counts[-1] < 0:
            return "- "
        self._counts[-1] += 1
        return f"{self._counts[-1]}. "

    def _ended(self, elements: list[Element]) -> None:
        for element in elements:
            if element.hidden:
                continue
            name = element.name
            if name == "a":
                self._link(element.href, self._link_begins.pop() if self._link_begins else None)
            elif name == "pre":
                self._put("\n```")
            elif name == "code" and not self._nesting.has("pre"):
                self._put("`")
            elif name in ("td", "th"):
                self._put(" ")
            elif name in ("ul", "ol", "menu") and self._counts:
                self._counts.pop()
            if name in BLOCKS and name != "li":
                self._break(2)

    def _link(self, href: str, begin: int | None) -> None:
        where = self._absolute(href)
        shown = "".join(self._out[begin:]).strip() if begin is not None else ""
        if not where or not shown:
            return
        self._links[where] = None
        if shown != where:
            self._wants_space = False
            self._out.append(f" <{where}>")

    def _absolute(self, href: str) -> str:
        """Where it leads, when that is a page; "" otherwise."""
        href = self._bared(href.strip())
        if not href or href.startswith("#") or len(href) > LINK_CHARS_MAX:
            return ""
        try:
            where = urljoin(self._url, href)
        except ValueError:
            return ""
        found = _PLAIN_LINK.match(where)
        return found[0] if found else ""


def _told(hidden: Counter[str]) -> str:
    words = (
        ("elements", "hidden part"),
        ("remarks", "comment"),
        ("unseen", "invisible character"),
    )
    return ", ".join(
        f"{hidden[key]:,} {word}{'s' * (hidden[key] != 1)}" for key, word in words if hidden[key]
    )
