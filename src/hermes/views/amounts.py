"""Format tokens, money and bar charts for a screen of a given width."""

import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from hermes.views.insights import Figure

UNKNOWN = "price unknown"
_SPARKS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"
BAR_MIN, NAME_MAX = 4, 40


class Bar(Struct, frozen=True):
    """One bar of a chart: its name, its value, and the note after it."""

    name: str
    value: float
    note: str


class AmountRow(Struct, frozen=True):
    """A rendered bar: three parts, padded so that all rows line up."""

    name: str
    bar: str
    note: str


def tokens(number: int) -> str:
    """Format a count: `812`, `1.2k`, `345k`, `6.7M`."""
    value = float(number)
    for unit in ("", "k", "M", "G"):
        if value < 999.5 or unit == "G":
            break
        value /= 1000
    return (
        f"{number}" if not unit else f"{value:.1f}{unit}" if value < 99.95 else f"{value:.0f}{unit}"
    )


def money(cost: float) -> str:
    """Format US dollars. Small sums get more digits, so that only zero looks like zero."""
    if cost == 0:
        return "$0"
    if cost < 0.0001:
        return "under $0.0001"
    return f"${cost:.4f}" if cost < 0.1 else f"${cost:,.2f}"


def price(figure: Figure) -> str:
    """Format a cost, and mark it when some prices are unknown."""
    if figure.cost is None:
        return UNKNOWN if figure.calls else "$0"
    return f"{money(figure.cost)}{' + ' + UNKNOWN if figure.unknown else ''}"


def share(part: float) -> str:
    return "under 1%" if 0 < part < 0.005 else f"{part:.0%}"


def rows(bars: Sequence[Bar], width: int, *, fancy: bool = True) -> list[AmountRow]:
    """Render the bars to `width` cells: name and note first, the bar gets the rest. The bar is left
    out if there is too little room."""
    if not bars:
        return []
    notes = max(cells_of(bar.note) for bar in bars)
    names = min(max(cells_of(bar.name) for bar in bars), NAME_MAX, max(8, width - notes - 4))
    room = width - names - notes - 4
    most = max(*(bar.value for bar in bars), 0.0)
    return [
        AmountRow(
            _fitted(bar.name, names),
            _bar(bar.value / most if most else 0.0, room, fancy=fancy) if room >= BAR_MIN else "",
            " " * (notes - cells_of(bar.note)) + bar.note,
        )
        for bar in bars
    ]


def sparks(values: Sequence[float], *, fancy: bool = True) -> str:
    """Render a sparkline: one character a value, a blank for zero."""
    most = max(values, default=0.0)
    marks = _SPARKS if fancy else ".:-=+*#@"
    last = len(marks) - 1
    return "".join(
        marks[min(last, int(value / most * len(marks)))] if most and value > 0 else " "
        for value in values
    )


def _bar(part: float, room: int, *, fancy: bool) -> str:
    if not fancy:
        return ("#" * max(round(part * room), int(part > 0))).ljust(room)
    eighths = max(round(part * room * 8), int(part > 0))
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + _EIGHTHS[rest].strip()).ljust(room)


def _fitted(text: str, cells: int) -> str:
    """Cut or pad a text to exactly this many terminal cells."""
    text = "".join(c if c.isprintable() else " " for c in text)
    if cells_of(text) > cells:
        while text and cells_of(text) > cells - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (cells - cells_of(text))


def cells_of(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)
