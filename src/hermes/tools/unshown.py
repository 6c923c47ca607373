"""Which elements of a page a person would not see: by attribute, by style, by the page's own rules.

A page that hides text from people and not from programs speaks to the program. What styles from
elsewhere or a script would hide is not known here.
"""

import re
from collections.abc import Mapping
from typing import Final

from hermes.lazy import LazyPattern
from hermes.tools.markup import OpeningTag

SHEET_CHARS_MAX: Final = 300_000
RULES_MAX: Final = 2_000
_NOUGHT: Final = r"(?:0+(?:\.0*)?|\.0+)"
_ZERO: Final = rf"{_NOUGHT}(?:px|r?em|%|pt|vh|vw)?(?=\s*(?:;|!|$))"
_HIDING: Final = LazyPattern(
    r"(?:^|[;\s{])(?:"
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden"
    rf"|opacity\s*:\s*{_ZERO}|font-size\s*:\s*{_ZERO}|(?:max-)?(?:width|height)\s*:\s*{_ZERO}"
    r"|text-indent\s*:\s*-\d{3,}"
    r"|(?:left|right|top|bottom|margin-left|margin-top)\s*:\s*-(?:\d{4,}|\d{3,}r?em)"
    r"|clip\s*:\s*rect\(|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)"
    rf"|transform\s*:[^;]{{0,80}}scale(?:[xy]|3d)?\(\s*{_NOUGHT}\s*[,)]"
    rf"|color\s*:\s*(?:transparent|rgba\([^)]{{0,40}},\s*{_NOUGHT}\s*\)))",
    re.I,
)
_INK: Final = LazyPattern(r"(?:^|[;\s])color\s*:\s*([#\w]+)", re.I)
_PAPER: Final = LazyPattern(r"background(?:-color)?\s*:\s*([#\w]+)", re.I)
_REMARKS: Final = LazyPattern(r"/\*.*?(?:\*/|$)", re.S)
_BRACES: Final = LazyPattern(r"[{}]")
_SIMPLE: Final = LazyPattern(r"([a-z][a-z0-9]*)?([.#][\w-]+)?", re.I)
_ZERO_SIZE: Final = LazyPattern(r"0+(?:\.0+)?(?:px|%)?")
# Nobody sees what is in them.
NEVER_SHOWN: Final = frozenset(
    (
        *("script", "style", "template", "noscript", "iframe", "noembed", "noframes", "object"),
        *("svg", "canvas", "audio", "video", "datalist"),
    )
)


class Unshown:
    """What the page's own styles hide: names of tags, classes and ids."""

    def __init__(self) -> None:
        self._hidden: set[tuple[str, str]] = set()

    def read(self, sheet: str) -> None:
        """Only rules that always hold: within @media and the like it depends."""
        sheet = _REMARKS.sub(" ", sheet[:SHEET_CHARS_MAX])
        depth, start, selector = 0, 0, ""
        for brace in _BRACES.finditer(sheet):
            piece, start = sheet[start : brace.start()], brace.end()
            if brace[0] == "{":
                depth += 1
                selector = piece if depth == 1 else ""
            else:
                if depth == 1 and selector and _hides(piece):
                    self._note(selector)
                depth, selector = max(depth - 1, 0), ""

    def covers(self, element: OpeningTag) -> bool:
        given = element.attributes
        if element.name in NEVER_SHOWN or "hidden" in given or "inert" in given:
            return True
        if given.get("aria-hidden", "").strip().lower() == "true":
            return True
        if element.name == "input" or given.get("type", "").lower() == "hidden":
            return True
        if any(_ZERO_SIZE.fullmatch(given.get(side, "").strip()) for side in ("width", "height")):
            return True
        if "style" in given and _hides(given["style"]):
            return True
        return bool(self._hidden) and self._by_sheet(element.name, given)

    def _by_sheet(self, tag: str, given: Mapping[str, str]) -> bool:
        marks = [f".{each}" for each in given.get("class", "").split()]
        marks += [f"#{given['id'].strip()}"] if "id" in given else []
        return any((name, mark) in self._hidden for name in ("", tag) for mark in ("", *marks))

    def _note(self, selectors: str) -> None:
        for selector in selectors.split(","):
            simple = _SIMPLE.fullmatch(selector.strip())
            if simple and simple[0] and len(self._hidden) < RULES_MAX:
                self._hidden.add(((simple[1] or "").lower(), simple[2] or ""))


def _hides(style: str) -> bool:
    if _HIDING.search(style):
        return True
    ink, paper = _INK.search(style), _PAPER.search(style)
    return ink is not None and paper is not None and ink[1].lower() == paper[1].lower()
