"""Times, amounts and first words, as a chat says them."""

WORDS_CHARS_MAX = 48
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def counted(number: int, thing: str, things: str = "") -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {things or thing + 's'}"


def lasting(seconds: float) -> str:
    """In the largest unit that fits; a clock that was set back counts as no time at all."""
    whole = int(max(seconds, 0))
    for size, unit in UNITS:
        if whole >= size:
            return counted(whole // size, unit)
    return "a moment"


def ago(at: float, now: float) -> str:
    return f"{lasting(now - at)} ago" if now - at >= 1 else "just now"


def first_words(text: str, chars_max: int = WORDS_CHARS_MAX) -> str:
    """One line that can be printed, cut where it gets long."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * chars_max])
    line = " ".join(line.split())
    return line if len(line) <= chars_max else f"{line[: chars_max - 1].rstrip()}…"


def quoted(text: str) -> str:
    return f"“{first_words(text)}”"
