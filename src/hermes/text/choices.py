"""The buttons of a message as words, for a platform that shows none or not all of them."""

from collections.abc import Iterable

CHOOSE = "Answer with one of these:"


def choices_as_text(buttons: Iterable[tuple[str, str]]) -> str:
    """Return one line for each button: what to write, and what it does."""
    lines = [
        f"- {says}" if label.strip() == says.strip() else f"- {says} ({label})"
        for label, says in buttons
    ]
    return "\n".join([CHOOSE, *lines]) if lines else ""
