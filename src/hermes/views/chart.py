"""Draw insights as one chart: a sheet of shapes, for SVG or PNG. Pure."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from hermes.text.plurals import counted
from hermes.views.amounts import money, price, share, tokens
from hermes.views.insights import Figure, Insights
from hermes.views.session_names import short_key

Tone = Literal["sheet", "ink", "faint", "line", "cached", "fresh", "output", "bar"]
Anchor = Literal["start", "middle", "end"]

WIDTH, EDGE = 960, 32
PLOT_LEFT, PLOT_TOP, PLOT_HEIGHT = 92, 118, 220
ROW, ROWS_MAX, PANEL_TOP, PANEL_GAP = 24, 6, 52, 32
NAME_CHARS_MAX = 34
TICKS = 4
LABELS_MAX = 10
TEXT, SMALL, TITLE = 13, 11, 20


class ChartArea(Struct, frozen=True):
    x: float
    y: float
    width: float
    height: float
    tone: Tone
    about: str = ""  # description in words


class ChartLabels(Struct, frozen=True):
    """A text on the chart. `y` is the middle of the line."""

    x: float
    y: float
    text: str
    size: int = TEXT
    tone: Tone = "ink"
    anchor: Anchor = "start"
    bold: bool = False


Shape = ChartArea | ChartLabels


class Sheet(Struct, frozen=True):
    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


def chart(found: Insights) -> Sheet:
    """Draw tokens by day, and what used most of them."""
    title = f"Hermes: {found.days[0].name} to {found.days[-1].name}" if found.days else "Hermes"
    shapes: list[Shape] = [
        ChartLabels(EDGE, 38, title, TITLE, bold=True),
        ChartLabels(EDGE, 66, _summary(found.total), tone="faint"),
        *_legend(),
        *_plot(found.days),
    ]
    top = PLOT_TOP + PLOT_HEIGHT + 52
    panels = _panels(found)
    for first in range(0, len(panels), 2):
        pair = panels[first : first + 2]
        for column, (heading, rows) in enumerate(pair):
            shapes += _panel(heading, rows, column, top)
        top += PANEL_TOP + ROW * max(len(rows) for _, rows in pair)
    return Sheet(WIDTH, int(top) + 8, title, tuple(shapes))


def nice(most: float, ticks: int = TICKS) -> float:
    """Return a round axis step (1, 2 or 5 times a power of ten) so that `ticks` steps reach
    `most`."""
    rough = max(most / ticks, 1.0)
    power = 10.0 ** math.floor(math.log10(rough))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.9999))


def _summary(total: Figure) -> str:
    cached = total.cache_share
    said = [counted(total.calls, "model call"), f"{tokens(total.total)} tokens", price(total)]
    return ", ".join(said) + (f", {share(cached)} of the input cached" if cached else "")


def _legend() -> Iterator[Shape]:
    names: Sequence[tuple[Tone, str]] = (
        ("cached", "input, cached"),
        ("fresh", "input"),
        ("output", "output"),
    )
    for number, (tone, name) in enumerate(names):
        x = WIDTH - EDGE - 330 + number * 125
        yield ChartArea(x, 90, 11, 11, tone)
        yield ChartLabels(x + 17, 95.5, name, SMALL, "faint")
    yield ChartLabels(EDGE, 95.5, "Tokens a day (UTC)", SMALL, "faint")


def _plot(days: Sequence[Figure]) -> Iterator[Shape]:
    """Yield stacked bars over a labelled axis."""
    step = nice(max((day.total for day in days), default=0))
    ticks = max(math.ceil(max((day.total for day in days), default=0) / step), 1)
    most = step * ticks
    bottom, right = PLOT_TOP + PLOT_HEIGHT, WIDTH - EDGE
    for tick in range(ticks + 1):
        y = bottom - PLOT_HEIGHT * tick / ticks
        yield ChartArea(PLOT_LEFT, y, right - PLOT_LEFT, 1, "line")
        yield ChartLabels(PLOT_LEFT - 10, y, tokens(round(step * tick)), SMALL, "faint", "end")
    slot = (right - PLOT_LEFT) / max(len(days), 1)
    every = math.ceil(len(days) / LABELS_MAX) or 1
    for number, day in enumerate(days):
        x, y = PLOT_LEFT + slot * number, float(bottom)
        cached = min(day.tokens.cached, day.tokens.input)
        parts: Sequence[tuple[Tone, int]] = (
            ("cached", cached),
            ("fresh", day.tokens.input - cached),
            ("output", day.tokens.output),
        )
        about = f"{day.name}: {day.total:,} tokens, {price(day)}"
        for tone, count in parts:
            height = PLOT_HEIGHT * count / most
            y -= height
            if count:
                yield ChartArea(x + slot * 0.14, y, max(slot * 0.72, 0.5), height, tone, about)
        if number % every == 0:
            yield ChartLabels(x + slot / 2, bottom + 18, day.name[5:], SMALL, "faint", "middle")


Rows = Sequence[tuple[str, float, str]]


def _panels(found: Insights) -> list[tuple[str, Rows]]:
    def of(figures: Sequence[Figure], empty: str = "?") -> Rows:
        return [
            (figure.name or empty, figure.total, f"{tokens(figure.total)}, {price(figure)}")
            for figure in figures[:ROWS_MAX]
        ]

    priced = [day for day in found.days if day.cost]
    tools = [(tool.tool, float(tool.calls), counted(tool.calls, "call")) for tool in found.tools]
    top = sorted(priced, key=lambda day: -(day.cost or 0.0))[:ROWS_MAX]
    panels: list[tuple[str, Rows]] = [
        ("By model", of(found.models)),
        ("By purpose", of(found.purposes)),
        ("By platform", of(found.platforms)),
        ("By session", [(short_key(n), v, note) for n, v, note in of(found.sessions, "deleted")]),
        ("Tools", tools[:ROWS_MAX]),
        ("Days that cost most", [(d.name, d.cost or 0.0, money(d.cost or 0.0)) for d in top]),
    ]
    return [(heading, rows) for heading, rows in panels if rows]


def _panel(heading: str, rows: Rows, column: int, top: float) -> Iterator[Shape]:
    width = (WIDTH - 2 * EDGE - PANEL_GAP) / 2
    left = EDGE + column * (width + PANEL_GAP)
    most = max(value for _, value, _ in rows) or 1.0
    yield ChartLabels(left, top + 8, heading, TEXT, bold=True)
    for number, (name, value, note) in enumerate(rows):
        y = top + 22 + ROW * number
        length = max(width * value / most, 1.0)
        yield ChartArea(left, y + 1, length, ROW - 4, "bar", f"{name}: {note}")
        yield ChartLabels(left + 6, y + ROW / 2 - 1, _cut(name), SMALL + 1)
        yield ChartLabels(left + width - 4, y + ROW / 2 - 1, note, SMALL, anchor="end")


def _cut(text: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= NAME_CHARS_MAX else f"{text[: NAME_CHARS_MAX - 1]}…"
