"""Find the style of each piece of a Markdown line. Pure.

Text is shown as it was written. Markdown marks are removed only where a style takes their place,
and only where they are unambiguous: a tag, an entity, an escape, an identifier with underscores or
a product with asterisks stays as it is.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

Style = Literal["bold", "italic", "strike", "code", "link", "url"]
NESTED_MAX = 4
LINE_CHARS_MAX = 20_000  # of a line that is looked through; a longer one is text
_ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
_TICKS = re.compile(r"`+")
_RUN = re.compile(r"\*+|~+")
_STYLES: dict[str, tuple[Style, ...]] = {
    "*": ("italic",),
    "**": ("bold",),
    "***": ("bold", "italic"),
    "~~": ("strike",),
}
# A link names a place: with a dot, a slash, a colon or a hash. `table[i](x)` is no link.
_LINK = re.compile(
    r"\[([^\[\]\n]*[^\[\]\s][^\[\]\n]*)\]\(([^()\s]*[./:#](?:[^()\s]|\([^()\s]*\))*)"
    r"([ \t]+\"[^\"\n]*\")?\)"
)


class StyledText(NamedTuple):
    text: str
    styles: frozenset[Style] = frozenset()


class Markup(NamedTuple):
    """A styled span: where it ends, the text inside its marks, and its styles."""

    end: int
    inner: str = ""
    styles: tuple[Style, ...] = ()


def styled(line: str) -> Iterator[StyledText]:
    """Yield the line in pieces, each with its styles. A piece without styles is text as written."""
    if len(line) > LINE_CHARS_MAX:
        yield StyledText(line)
    else:
        yield from _pieces(line, frozenset(), NESTED_MAX)


def _pieces(line: str, styles: frozenset[Style], depth: int) -> Iterator[StyledText]:
    plain, at, scan = "", 0, _Scan(line)
    while at < len(line):
        end, inner, more = scan.styled(at) if depth else (at, "", ())
        if end == at:
            width = _width_of_text(line, at)
            plain += line[at : at + width]
            at += width
            continue
        if plain:
            yield StyledText(plain, styles)
            plain = ""
        if "code" in more:
            yield StyledText(inner, styles | {*more})
        else:
            yield from _pieces(inner, styles | {*more}, depth - 1)
        if "link" in more:
            yield StyledText(f" {line[at + len(inner) + 2 : end]}", styles | {"url"})
        at = end
    if plain:
        yield StyledText(plain, styles)


def _width_of_text(line: str, at: int) -> int:
    """Return how many characters here are literal: an escape, a whole run of marks, or one
    character."""
    found = _ESCAPED.match(line, at) or _TICKS.match(line, at) or _RUN.match(line, at)
    return len(found[0]) if found is not None else 1


class _Scan:
    """Scan one line from left to right. A mark without a partner is remembered, so each is searched
    once."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._alone: set[str] = set()

    def styled(self, at: int) -> Markup:
        """Return the styled span that begins here, if any."""
        line, char = self._line, self._line[at]
        if char == "`":
            return self._code(at)
        if char in "*~":
            return self._emphasis(at)
        before = line[at - 1 : at] if at else ""
        if char == "[" and before != "!" and not _is_word(before):
            link = _LINK.match(line, at)
            if link is not None and "`" not in link[0]:
                return Markup(link.end(), link[1], ("link",))
        return Markup(at)

    def _code(self, at: int) -> Markup:
        line, ticks = self._line, _TICKS.match(self._line, at)
        if ticks is None or ticks[0] in self._alone:
            return Markup(at)
        for closing in _TICKS.finditer(line, ticks.end()):
            if closing[0] == ticks[0]:
                inner = line[ticks.end() : closing.start()]
                return (
                    Markup(closing.end(), _bared(inner), ("code",)) if inner.strip() else Markup(at)
                )
        self._alone.add(ticks[0])
        return Markup(at)

    def _emphasis(self, at: int) -> Markup:
        line, run = self._line, _RUN.match(self._line, at)
        styles = _STYLES.get(run[0]) if run is not None else None
        if run is None or styles is None or run[0] in self._alone or not _opens(line, run):
            return Markup(at)
        place = run.end()
        while place < len(line):
            if line[place] == "`" and (code := self._code(place)).end > place:
                place = code.end
                continue
            other = _RUN.match(line, place)
            if other is None:
                place += _width_of_text(line, place)
                continue
            if other[0] == run[0] and _ends(line, other):
                return Markup(other.end(), line[run.end() : place], styles)
            place = other.end()
        self._alone.add(run[0])
        return Markup(at)


def _bared(inner: str) -> str:
    """Strip one space at either end, which code spans use around backticks."""
    both = inner.startswith(" ") and inner.endswith(" ")
    return inner[1:-1] if both else inner


def _opens(line: str, run: "re.Match[str]") -> bool:
    """Return True if the marks open a span: text follows, and no word is right before."""
    before = line[run.start() - 1 : run.start()] if run.start() else ""
    after = line[run.end() : run.end() + 1]
    return bool(after.strip()) and not _is_word(before) and before not in ("/", ".", ")", "]")


def _ends(line: str, run: "re.Match[str]") -> bool:
    before, after = line[run.start() - 1 : run.start()], line[run.end() : run.end() + 1]
    return bool(before.strip()) and not _is_word(after) and after not in ("/", "(", "[")


def _is_word(char: str) -> bool:
    """Return True for a letter of a word that spaces delimit. Chinese and Japanese use no
    spaces."""
    if not char:
        return False
    return char.isalnum() and unicodedata.east_asian_width(char) not in ("W", "F")
