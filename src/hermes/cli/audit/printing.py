"""Shared by the audit commands: make text safe to print."""

NONE_YET = "Nothing was recorded yet"


def visible_text(text: str) -> str:
    """Return the text without characters that move, hide or reverse what stands beside it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
