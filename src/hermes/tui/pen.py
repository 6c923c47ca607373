"""Draw what stays on the screen: Markdown, coloured code, calls, notices.

Its input is free of control characters; its output contains only its own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

from rich.console import Console
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from hermes.core.messages import Outcome
from hermes.tui.blocks import blocks
from hermes.tui.calls import DIFF_LINES, SIGNS, CallView, diff_rows, ending, label, why_it_failed
from hermes.tui.colours import Depth
from hermes.tui.markdown import draw, draw_lines
from hermes.tui.skins import Skin
from hermes.tui.transcript_items import (
    MARK,
    CallSummary,
    HermesText,
    NoticeLine,
    PersonText,
    Prose,
    TranscriptItem,
)

SAID_LINES_MAX = 12
WIDTH_MIN = 20
LIVE_CHARS = 2_000  # of an unfinished end that is drawn whole
_TRAILING = re.compile(r"[ \t]+((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
_TICKS = re.compile(r"`+")
_CODES = re.compile(r"\x1b\[[0-9;]*m")
_SYSTEMS: Mapping[Depth, "str"] = {1: "standard", 4: "standard", 8: "256", 24: "truecolor"}
_WITHOUT_GAP: frozenset[tuple[type, type]] = frozenset(
    {(PersonText, HermesText), (CallSummary, NoticeLine), (NoticeLine, CallSummary)}
)


class Pen:
    """Draw items. It remembers the last one, for the empty lines between."""

    def __init__(self, skin: Skin, depth: Depth) -> None:
        self._depth = depth
        self._last: type = HermesText  # the greeting, or whatever the shell said
        self.skin = skin

    def draw(self, items: Iterable[TranscriptItem], width: int, now: float) -> str:
        console = self._console(width)
        for item in items:
            if self._gap(item):
                console.print()
            self._item(console, item, now)
        return _written(console)

    def live(self, text: str, width: int, rows: int) -> Sequence[str]:
        """Return the last rows of the unfinished answer."""
        if not text.strip():
            return ()
        console = self._console(width)
        self._prose(console, _last_of(text, rows), folded=True)
        return _written(console).rstrip("\n").split("\n")[-rows:]

    def _console(self, width: int) -> Console:
        return Console(
            file=StringIO(),
            force_terminal=True,
            color_system=_SYSTEMS[self._depth],  # type: ignore[arg-type]
            no_color=not self.skin.colours or self._depth == 1,
            width=max(width, WIDTH_MIN),
            theme=_theme(self.skin),
            highlight=False,
            emoji=False,
            markup=False,
            legacy_windows=False,
            _environ={},
        )

    def _gap(self, item: TranscriptItem) -> bool:
        before, kind = self._last, type(item)
        self._last = kind
        if before is kind and kind in (CallSummary, NoticeLine):
            return False
        return (before, kind) not in _WITHOUT_GAP

    def _item(self, console: Console, item: TranscriptItem, now: float) -> None:
        match item:
            case PersonText(text=text, note=note):
                console.print(self._draw_message(text, note), soft_wrap=True)
            case Prose(text=text):
                self._prose(console, text, folded=False)
            case HermesText(text=text):
                draw_lines(console, text)
            case CallSummary(call=call):
                console.print(self._draw_call(call, console.width, now), soft_wrap=True)
                if call.outcome is Outcome.OK and call.diff:
                    for row in diff_rows(call.diff, DIFF_LINES, console.width):
                        console.print(Text(row.text, style=f"hermes.{row.kind}"), soft_wrap=True)
            case NoticeLine(text=text, tone=tone):
                draw_lines(console, text, f"hermes.{tone}")

    def _draw_message(self, text: str, note: str) -> Text:
        lines = text.split("\n")
        shown = lines if len(lines) <= SAID_LINES_MAX else lines[: SAID_LINES_MAX - 1]
        drawn = Text()
        drawn.append(f"{MARK} ", style="hermes.you")
        drawn.append("\n  ".join(shown), style="bold")
        if len(shown) < len(lines):
            drawn.append(f"\n  … {len(lines) - len(shown)} more lines", style="hermes.quiet")
        if note:
            drawn.append(f"  ({note})", style="hermes.quiet")
        return drawn

    def _draw_call(self, call: CallView, width: int, now: float) -> Text:
        outcome = call.outcome
        sign = SIGNS[outcome] if outcome is not None else "·"
        tone = {"✓": "good", "✗": "bad", "⊘": "bad"}.get(sign, "warn")
        end = ending(call, now)
        name, _, about = label(call, width - len(end) - 5).partition(" ")
        drawn = Text()
        drawn.append(f"{sign} ", style=f"hermes.{tone}")
        drawn.append(name, style="bold")
        drawn.append(f" {about}" if about else "", style="hermes.quiet")
        drawn.append(
            f"  {end}" if end else "", style="hermes.quiet" if tone == "good" else f"hermes.{tone}"
        )
        if why := why_it_failed(call, 2 * width - 4):
            drawn.append(f"\n  {why}", style="hermes.quiet")
        return drawn

    def _prose(self, console: Console, text: str, *, folded: bool) -> None:
        """Draw each block by itself, so that exactly one empty line separates two."""
        drawn = []
        for block in blocks(text):
            apart = self._console(console.width)
            draw(apart, block, self.skin.code, folded=folded)
            drawn.append(_trimmed(_written(apart)))
        console.file.write("\n\n".join(drawn) + "\n")


def _last_of(text: str, rows: int) -> str:
    """Return the end of a text that fills the given rows, so that redrawing is cheap. For
    unfinished code, return its fence and its last lines."""
    if len(text) <= LIVE_CHARS:
        return text
    last = list(blocks(text))[-1]
    if last.kind != "code":
        return text
    fence = "`" * (2 + max((len(run) for run in _TICKS.findall(last.text)), default=1))
    return "\n".join((f"{fence}{last.detail}", *last.text.split("\n")[-rows - 1 :]))


def _theme(skin: Skin) -> Theme:
    accent, quiet = skin.accent or None, skin.quiet or None
    dim = Style(color=quiet) if quiet else Style(dim=True)
    return Theme(
        {
            "hermes.you": Style(color=skin.you or None, bold=True),
            "hermes.quiet": dim,
            "hermes.good": Style(color=skin.good or None),
            "hermes.bad": Style(color=skin.bad or None, bold=True),
            "hermes.warn": Style(color=skin.warn or None),
            "hermes.added": Style(color=skin.good or None, bold=not skin.colours),
            "hermes.removed": Style(color=skin.bad or None, dim=not skin.colours),
            "hermes.heading": Style(color=accent, bold=True),
            "hermes.title": Style(color=accent, bold=True, underline=True),
            "hermes.bullet": Style(color=accent, bold=True),
            "hermes.inline.bold": Style(bold=True),
            "hermes.inline.italic": Style(italic=True),
            "hermes.inline.strike": Style(strike=True),
            "hermes.inline.code": Style(color=accent, bold=not accent),
            "hermes.inline.link": Style(underline=True),
            "hermes.inline.url": dim,
        },
        inherit=True,
    )


def _trimmed(text: str) -> str:
    """Return the text without blank lines at its ends."""
    lines = text.split("\n")
    full = [n for n, line in enumerate(lines) if _CODES.sub("", line).strip()]
    return "\n".join(lines[full[0] : full[-1] + 1]) if full else ""


def _written(console: Console) -> str:
    file = console.file
    assert isinstance(file, StringIO), "it was made with one"
    return _TRAILING.sub(r"\1", file.getvalue())
