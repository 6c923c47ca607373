"""Which elements of a page are open, by the rules that browsers mend bad markup with.

It matters for hidden text: a stray end tag must not end the element that hides.
"""

from collections import Counter
from typing import Final

from msgspec import Struct

DEPTH_MAX: Final = 500
EFFORT_MAX: Final = 2_000_000  # elements looked at, over a whole page

VOID: Final = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"),
        *("track", "wbr", "param", "frame", "keygen"),
    )
)
BLOCKS: Final = frozenset(
    (
        *("address", "article", "aside", "blockquote", "center", "details", "dialog", "dir"),
        *("div", "dl", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3"),
        *("h4", "h5", "h6", "header", "hgroup", "hr", "main", "menu", "nav", "ol", "p", "pre"),
        *("search", "section", "summary", "table", "ul", "li", "dd", "dt", "listing", "xmp"),
        *("plaintext",),
    )
)
_CELLS: Final = frozenset(("td", "th"))
_TABLE: Final = frozenset(
    ("table", "caption", "colgroup", "tbody", "thead", "tfoot", "tr", *_CELLS)
)
_SPECIAL: Final = (
    BLOCKS | _TABLE | {"body", "html", "head", "button", "select", "template", "object"}
)
_FORMATS: Final = frozenset(
    (
        *("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong"),
        *("tt", "u"),
    )
)
_WALLS: Final = frozenset(("table", "caption", "template", "object", "html", *_CELLS))
_THROUGH: Final = frozenset(("address", "div", "p"))
_TERMS: Final = frozenset(("dd", "dt"))
_ITEMS: Final = {"li": frozenset(("li",)), "dd": _TERMS, "dt": _TERMS}


class Tangled(Exception):
    """More nesting than a page that is meant to be read has."""


class Element(Struct, frozen=True):
    name: str
    hidden: bool  # it, or one around it
    href: str = ""


class Nesting:
    def __init__(self) -> None:
        self.stack: list[Element] = []
        self._open: Counter[str] = Counter()
        self._effort = 0

    @property
    def hidden(self) -> bool:
        return bool(self.stack) and self.stack[-1].hidden

    def has(self, name: str) -> bool:
        return self._open[name] > 0

    def push(self, name: str, *, hidden: bool, href: str = "") -> None:
        """Raises Tangled."""
        if len(self.stack) >= DEPTH_MAX:
            raise Tangled
        self.stack.append(Element(name, hidden or self.hidden, href))
        self._open[name] += 1

    def make_room(self, name: str) -> list[Element]:
        """What ends because this begins: paragraphs, items, cells, rows."""
        if name in _ITEMS:
            ended = self._to_nearest(_ITEMS[name], _SPECIAL - _THROUGH)
            return ended + self.close("p")
        if name in _CELLS:
            return self._to_nearest(_CELLS, frozenset(("tr", "table", "template")))
        if name == "tr":
            return self._to_nearest(frozenset(("tr",)), frozenset(("table", "template")))
        if name == "a":
            return self.close("a")
        if name in ("option", "optgroup"):
            return self._to_nearest(frozenset(("option",)), frozenset(("select",)))
        return self.close("p") if name in BLOCKS and self.has("p") else []

    def close(self, name: str) -> list[Element]:
        """What an end tag ends; nothing where it is a stray one."""
        if name in ("body", "html"):
            return []
        if name in _TABLE:
            return self._to_nearest(frozenset((name,)), frozenset(("table", "template")))
        if name in _SPECIAL or name in _FORMATS:
            return self._to_nearest(frozenset((name,)), _WALLS)
        return self._to_nearest(frozenset((name,)), _SPECIAL)

    def _to_nearest(self, names: frozenset[str], walls: frozenset[str]) -> list[Element]:
        if not any(self._open[name] for name in names):
            return []
        for back in range(1, len(self.stack) + 1):
            self._effort += 1
            here = self.stack[-back].name
            if here in names:
                ended = self.stack[-back:]
                del self.stack[-back:]
                self._open.subtract(each.name for each in ended)
                return ended[::-1]
            if here in walls:
                break
        if self._effort > EFFORT_MAX:
            raise Tangled
        return []
