"""Format durations, times and the first words of a text for a chat."""

from hermes.text.plurals import counted

__all__ = ["ago", "counted", "first_words", "lasting", "quoted"]
WORDS_CHARS_MAX = 48
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def lasting(seconds: float) -> str:
    """Format a duration in its largest unit; a negative one (the clock was set back) counts as
    0."""
    whole = int(max(seconds, 0))
    for size, unit in UNITS:
        if whole >= size:
            return counted(whole // size, unit)
    return "a moment"


def ago(at: float, now: float) -> str:
    return f"{lasting(now - at)} ago" if now - at >= 1 else "just now"


def first_words(text: str, chars_max: int = WORDS_CHARS_MAX) -> str:
    """Return the first words as one printable line, cut if too long."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * chars_max])
    line = " ".join(line.split())
    return line if len(line) <= chars_max else f"{line[: chars_max - 1].rstrip()}…"


def quoted(text: str) -> str:
    return f"“{first_words(text)}”"
