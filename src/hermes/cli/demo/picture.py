"""Draw the demo as an SVG picture, readable on a light and a dark background. Pure."""

from collections.abc import Iterator

from hermes.cli.demo.story import LANES, Beat, Lane, Story
from hermes.views.svg import escaped

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
WIDTH, EDGE, LEFT, RIGHT = 960, 32, 118, 928
TOP, ROW, BAR = 112, 40, 16
BEATS_TOP, BEAT = 58, 24
NAMES: dict[Lane, str] = {
    "person": "Person",
    "gateway": "Gateway",
    "model": "Model",
    "command": "Command",
    "journal": "Journal",
}
TITLE = "A turn is cut off by SIGKILL in the middle of a command"
RULES = {
    "sheet": ("#ffffff", "#0d1117"),
    "ink": ("#1c2733", "#e6edf3"),
    "faint": ("#5b6b7b", "#9aa9b8"),
    "rule": ("#e3e8ee", "#27323d"),
    "person": ("#7a5bb5", "#b39ddb"),
    "gateway": ("#3f88c5", "#5aa2e0"),
    "model": ("#e08e45", "#e9a15f"),
    "command": ("#2a9d8f", "#4fc3b4"),
    "journal": ("#4c9a5e", "#6cc181"),
    "fatal": ("#d1495b", "#f0697a"),
    "void": ("#fbe9eb", "#2a161b"),
}


def picture(story: Story) -> str:
    bottom = TOP + ROW * len(LANES)
    beats_top = bottom + BEATS_TOP
    height = beats_top + BEAT * len(story.beats) + 34
    size, view = f'width="{WIDTH}" height="{height}"', f'viewBox="0 0 {WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">',
        f"<title>{escaped(TITLE)}</title>",
        f"<style>text{{font-family:{FONT}}}{_rules(0)}",
        f"@media (prefers-color-scheme:dark){{{_rules(1)}}}</style>",
        f'<rect class="sheet" {size} rx="10"/>',
        _words(EDGE, 38, TITLE, size=20, weight=600),
        _words(EDGE, 64, _summary(story), tone="faint"),
        *_gap(story, bottom),
        *_axis(story, bottom),
        *_lanes(story),
        *_table(story, beats_top),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _summary(story: Story) -> str:
    kept = "every promise was kept" if story.holds else "a promise was broken"
    dark = f"For {story.back - story.killed:.1f} s there was no gateway."
    return f"{dark} The command kept running, the turn was resumed: {kept}."


def _x(story: Story, at: float) -> float:
    return LEFT + (RIGHT - LEFT) * at / story.seconds


def _gap(story: Story, bottom: float) -> Iterator[str]:
    left, right = _x(story, story.killed), _x(story, story.back)
    yield _box(left, TOP - 14, right - left, bottom - TOP + 14, "void")
    yield _box(left - 1, TOP - 14, 2, bottom - TOP + 14, "fatal")
    yield _words(left, TOP - 24, "SIGKILL", tone="fatal", size=12, weight=600, anchor="middle")


def _axis(story: Story, bottom: float) -> Iterator[str]:
    for second in range(int(story.seconds) + 1):
        x = _x(story, second)
        yield _box(x, TOP - 6, 1, bottom - TOP + 6, "rule")
        yield _words(x, bottom + 16, f"{second} s", tone="faint", size=11, anchor="middle")


def _lanes(story: Story) -> Iterator[str]:
    for number, lane in enumerate(LANES):
        middle = TOP + ROW * number + ROW / 2
        yield _words(EDGE, middle, NAMES[lane], tone=lane, weight=600)
        for span in story.spans:
            if span.lane == lane:
                left, right = _x(story, span.start), _x(story, span.end)
                thick = 3 if lane == "person" else BAR
                yield _box(left, middle - thick / 2, right - left, thick, lane, round_=thick / 2)
                if span.cut:
                    yield _cross(right, middle)
                if lane == "person":
                    yield _dot(left, middle, 6, lane)
                    yield _dot(right, middle, 6, lane)
        if lane == "command":
            for page in story.pages:
                yield _dot(_x(story, page), middle, 3.2, "sheet")
        if lane == "journal":
            yield _box(LEFT, middle - 0.5, RIGHT - LEFT, 1, "rule")
            for commit in story.commits:
                yield _dot(_x(story, commit), middle, 5, lane)


def _table(story: Story, top: float) -> Iterator[str]:
    """Yield the rows of the table: what happened, what was stored and what was reused."""
    yield _words(EDGE, top - 14, "What happened", size=12, weight=600)
    yield _words(640, top - 14, "What was stored, what was reused", size=12, weight=600)
    yield _box(EDGE, top - 2, RIGHT - EDGE, 1, "rule")
    for number, beat in enumerate(story.beats):
        y = top + BEAT * number + BEAT / 2 + 2
        tone = "fatal" if beat.fatal else beat.lane
        yield _words(EDGE + 44, y, f"{beat.at:.2f} s", tone="faint", size=12, anchor="end")
        yield _words(EDGE + 58, y, NAMES[beat.lane], tone=tone, size=12, weight=600)
        yield _words(EDGE + 138, y, beat.text, tone="fatal" if beat.fatal else "ink", size=12)
        yield from _journal_note(beat, y)


def _journal_note(beat: Beat, y: float) -> Iterator[str]:
    if beat.stored:
        yield _dot(645, y, 4, "journal")
        yield _words(658, y, beat.stored, size=12)
    if beat.reused:
        yield f'<circle class="loop" cx="645" cy="{y:.1f}" r="4"/>'
        yield _words(658, y, f"reused: {beat.reused}", tone="journal", size=12, weight=600)


def _rules(which: int) -> str:
    fills = "".join(f".{name}{{fill:{both[which]}}}" for name, both in RULES.items())
    loop = f".loop{{fill:none;stroke:{RULES['journal'][which]};stroke-width:2}}"
    return f"{fills}{loop}.cross{{stroke:{RULES['fatal'][which]};stroke-width:3.5}}"


def _box(x: float, y: float, width: float, height: float, tone: str, *, round_: float = 0) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}"'
    corner = f' rx="{round_:.1f}"' if round_ else ""
    return f'<rect class="{tone}" {place}{corner}/>'


def _dot(x: float, y: float, radius: float, tone: str) -> str:
    return f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def _cross(x: float, y: float) -> str:
    arm = 8
    path = f"M{x - arm:.1f} {y - arm:.1f}l{2 * arm} {2 * arm}m0 {-2 * arm}l{-2 * arm} {2 * arm}"
    return f'<path class="cross" d="{path}" stroke-linecap="round"/>'


def _words(
    x: float,
    y: float,
    text: str,
    *,
    tone: str = "ink",
    size: int = 13,
    weight: int = 400,
    anchor: str = "start",
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" dy=".35em" font-size="{size}" font-weight="{weight}"'
    return f'<text class="{tone}" {place} text-anchor="{anchor}">{escaped(text)}</text>'
