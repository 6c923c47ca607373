"""Colours of the window: a few names per skin, reduced to what the terminal supports."""

from collections.abc import Mapping
from typing import NamedTuple


class Skin(NamedTuple):
    """Colours as #rrggbb, or "" for the terminal's own; `code` is the name of a code theme."""

    name: str
    about: str
    you: str = ""
    accent: str = ""
    quiet: str = ""
    good: str = ""
    bad: str = ""
    warn: str = ""
    bar: str = ""  # behind the status line
    bar_text: str = ""
    code: str = "ansi_dark"
    colours: bool = True


DARK = Skin(
    name="dark",
    about="for a dark background",
    you="#7cc7ff",
    accent="#b49bff",
    quiet="#8a8f98",
    good="#7ed491",
    bad="#ff8080",
    warn="#f0c674",
    bar="#262a33",
    bar_text="#b8bec9",
    code="ansi_dark",
)
LIGHT = Skin(
    name="light",
    about="for a light background",
    you="#0550ae",
    accent="#6639ba",
    quiet="#5d646e",
    good="#116329",
    bad="#b3261e",
    warn="#7d4e00",
    bar="#e6e8ec",
    bar_text="#3a414b",
    code="ansi_light",
)
CONTRAST = Skin(
    name="contrast",
    about="strong colours, nothing dim",
    you="#ffffff",
    accent="#00ffff",
    quiet="#ffffff",
    good="#00ff00",
    bad="#ff5f5f",
    warn="#ffff00",
    bar="#ffffff",
    bar_text="#000000",
    code="ansi_dark",
)
MONO = Skin(name="mono", about="no colours, only bold and dim", colours=False)
SKINS: Mapping[str, Skin] = {skin.name: skin for skin in (DARK, LIGHT, CONTRAST, MONO)}
AUTO = "auto"


def chosen(name: str, environ: Mapping[str, str]) -> Skin:
    """Return the skin of this name; for "" and "auto", the one that fits the terminal's
    background."""
    if environ.get("NO_COLOR"):
        return MONO
    if name in SKINS:
        return SKINS[name]
    return LIGHT if is_light(environ.get("COLORFGBG", "")) else DARK


def is_light(colorfgbg: str) -> bool:
    """Return True for a light background. COLORFGBG is “foreground;background”, in the sixteen
    colours."""
    background = colorfgbg.rpartition(";")[2]
    return background.isdecimal() and int(background) in (7, 15)


def styles(skin: Skin) -> Mapping[str, str]:
    """Return the style of each class, in the syntax that both libraries share."""
    return {
        "you": f"{skin.you} bold".strip(),
        "accent": f"{skin.accent} bold".strip(),
        "quiet": skin.quiet or "",
        "good": skin.good,
        "bad": f"{skin.bad} bold".strip(),
        "warn": f"{skin.warn} bold".strip(),
    }
