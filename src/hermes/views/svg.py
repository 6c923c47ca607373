"""Render a sheet as SVG: valid XML, readable on light and dark backgrounds."""

from typing import TYPE_CHECKING

from hermes.lazy import LazyModule
from hermes.views.chart import ChartArea, ChartLabels, Sheet, Tone

if TYPE_CHECKING:
    import html
else:
    html = LazyModule("html")

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
LIGHT: dict[Tone, str] = {
    "sheet": "#ffffff",
    "ink": "#1c2733",
    "faint": "#5b6b7b",
    "line": "#e3e8ee",
    "cached": "#9ec9b4",
    "fresh": "#3f88c5",
    "output": "#e08e45",
    "bar": "#cfe1f2",
}
DARK: dict[Tone, str] = {
    "sheet": "#11181f",
    "ink": "#e6edf3",
    "faint": "#9aa9b8",
    "line": "#27323d",
    "cached": "#3f7a5e",
    "fresh": "#5aa2e0",
    "output": "#e9a15f",
    "bar": "#234a6d",
}


def escaped(text: str) -> str:
    """Escape the text for XML and HTML; unprintable characters become blanks."""
    return html.escape("".join(char if char.isprintable() else " " for char in text))


def svg(sheet: Sheet) -> str:
    style = f"text{{font-family:{FONT}}}{_rules(LIGHT)}"
    dark = f"@media (prefers-color-scheme:dark){{{_rules(DARK)}}}"
    size = f'width="{sheet.width}" height="{sheet.height}"'
    view = f'viewBox="0 0 {sheet.width} {sheet.height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">',
        f"<title>{escaped(sheet.title)}</title>",
        f"<style>{style}{dark}</style>",
        f'<rect class="sheet" {size}/>',
        *(_box(shape) if isinstance(shape, ChartArea) else _words(shape) for shape in sheet.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _rules(tones: dict[Tone, str]) -> str:
    return "".join(f".{tone}{{fill:{colour}}}" for tone, colour in tones.items())


def _box(box: ChartArea) -> str:
    place = f'x="{box.x:.2f}" y="{box.y:.2f}" width="{box.width:.2f}" height="{box.height:.2f}"'
    rect = f'<rect class="{box.tone}" {place}'
    return f"{rect}><title>{escaped(box.about)}</title></rect>" if box.about else f"{rect}/>"


def _words(words: ChartLabels) -> str:
    weight = ' font-weight="600"' if words.bold else ""
    place = f'x="{words.x:.2f}" y="{words.y:.2f}" dy=".35em" font-size="{words.size}"'
    anchor = f' text-anchor="{words.anchor}"' if words.anchor != "start" else ""
    return f'<text class="{words.tone}" {place}{anchor}{weight}>{escaped(words.text)}</text>'
