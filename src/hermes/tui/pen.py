"""Draws what goes onto the screen for good: Markdown, code in colours, calls, remarks.

Everything it is given is free of control characters; what it returns has only those of its own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

from rich.console import Console
from rich.markdown import Markdown
from rich.style import Style
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from hermes.tui.blocks import Block, blocks
from hermes.tui.calls import SIGNS, CallView, ending, label
from hermes.tui.colours import Depth
from hermes.tui.shown import MARK, Called, Prose, Remark, Said, Shown, Told
from hermes.tui.skins import Skin

SAID_LINES_MAX = 12
WIDTH_MIN, PROSE_WIDTH_MAX = 20, 100
_TRAILING = re.compile(r"[ \t]+((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
_CODES = re.compile(r"\x1b\[[0-9;]*m")
_SYSTEMS: Mapping[Depth, "str"] = {1: "standard", 4: "standard", 8: "256", 24: "truecolor"}


class Pen:
    """Remembers what it drew last, for the empty lines between."""

    def __init__(self, skin: Skin, depth: Depth) -> None:
        self._depth = depth
        self._last = "Told"  # the greeting, or whatever the shell said
        self.skin = skin

    def draw(self, items: Iterable[Shown], width: int, now: float) -> str:
        console = self._console(width)
        for item in items:
            if self._gap(item):
                console.print()
            self._item(console, item, now)
        return _written(console)

    def live(self, text: str, width: int, rows: int) -> Sequence[str]:
        """The unfinished end of an answer, its last rows."""
        if not text.strip():
            return ()
        console = self._console(width)
        self._prose(console, text, folded=True)
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

    def _gap(self, item: Shown) -> bool:
        before, kind = self._last, type(item).__name__
        self._last = kind
        if before == kind and kind in ("Called", "Remark"):
            return False
        return (before, kind) not in {("Said", "Told"), ("Called", "Remark"), ("Remark", "Called")}

    def _item(self, console: Console, item: Shown, now: float) -> None:
        match item:
            case Said(text=text, note=note):
                console.print(self._said(text, note), soft_wrap=True)
            case Prose(text=text):
                self._prose(console, text, folded=False)
            case Told(text=text):
                console.print(Text(text), soft_wrap=True)
            case Called(call=call):
                console.print(self._called(call, console.width, now), soft_wrap=True)
            case Remark(text=text, tone=tone):
                console.print(Text(text, style=f"hermes.{tone}"), soft_wrap=True)

    def _said(self, text: str, note: str) -> Text:
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

    def _called(self, call: CallView, width: int, now: float) -> Text:
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
        return drawn

    def _prose(self, console: Console, text: str, *, folded: bool) -> None:
        """Each block by itself, so that exactly one empty line stands between two."""
        drawn = []
        for block in blocks(text):
            apart = self._console(console.width)
            self._block(apart, block, folded=folded)
            drawn.append(_trimmed(_written(apart)))
        console.file.write("\n\n".join(drawn) + "\n")

    def _block(self, console: Console, block: Block, *, folded: bool) -> None:
        match block:
            case Block(kind="code", text=text, detail=language):
                code = Syntax(text, language or "text", theme=self.skin.code)
                drawn = code.highlight(text)
                drawn.rstrip()
                console.print(drawn, soft_wrap=not folded, no_wrap=False)
            case Block(kind="heading", text=text, detail=marks):
                style = "hermes.title" if len(marks) == 1 else "hermes.heading"
                console.print(Text(text, style=style))
            case Block(text=text):
                width = min(console.width, PROSE_WIDTH_MAX)
                console.print(
                    Markdown(text, hyperlinks=False, code_theme=self.skin.code), width=width
                )


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
            "hermes.heading": Style(color=accent, bold=True),
            "hermes.title": Style(color=accent, bold=True, underline=True),
            "markdown.code": Style(color=accent, bold=not accent),
            "markdown.item.bullet": Style(color=accent, bold=True),
            "markdown.item.number": Style(color=accent, bold=True),
            "markdown.block_quote": dim,
            "markdown.hr": dim,
            "markdown.link": Style(underline=True),
            "markdown.link_url": dim,
            "markdown.table.border": dim,
            "markdown.table.header": Style(bold=True),
        },
        inherit=True,
    )


def _trimmed(text: str) -> str:
    """Without lines at its ends that show nothing."""
    lines = text.split("\n")
    full = [n for n, line in enumerate(lines) if _CODES.sub("", line).strip()]
    return "\n".join(lines[full[0] : full[-1] + 1]) if full else ""


def _written(console: Console) -> str:
    file = console.file
    assert isinstance(file, StringIO), "it was made with one"
    return _TRAILING.sub(r"\1", file.getvalue())
