"""Styles of a skin for what is redrawn: input line, card, status line, menus."""

from prompt_toolkit.styles import Style

from hermes.tui.skins import Skin


def style_of(skin: Skin) -> Style:
    quiet = skin.quiet if skin.quiet else "ansibrightblack" if skin.colours else ""
    bar = f"bg:{skin.bar} {skin.bar_text}" if skin.bar else "reverse"
    menu = f"bg:{skin.bar} {skin.bar_text}" if skin.bar else ""
    return Style.from_dict(
        {
            "you": f"{skin.you} bold".strip(),
            "accent": f"{skin.accent} bold".strip(),
            "quiet": quiet,
            "warn": f"{skin.warn} bold".strip(),
            "added": skin.good or "bold",
            "removed": skin.bad or quiet,
            "key": "reverse bold",
            "mark": f"{skin.accent} bold".strip(),
            "chosen": f"{skin.accent} bold".strip() if skin.colours else "bold reverse",
            "bar": bar,
            "bar.quiet": "",
            "bar.name": "bold",
            "bar.warn": "bold",
            "completion-menu": menu,
            "completion-menu.completion": menu,
            "completion-menu.completion.current": "reverse bold",
            "completion-menu.meta.completion": menu,
            "completion-menu.meta.completion.current": "reverse",
            "scrollbar.background": menu,
            "scrollbar.button": "reverse",
        }
    )
