"""What a search compares: plain words, the same for the text that is kept and for the question.

Both stores index `plain(text)`, so that they find the same rows whatever their own idea of a word.
"""

import re
import unicodedata
from collections.abc import Sequence

TERMS_MAX = 16
TERM_CHARS_MAX = 64
INDEXED_CHARS_MAX = 20_000  # of one row; what stands behind is kept, and not found by its words
AROUND_CHARS = 80

_WORD = re.compile(r"[^\W_]+")


def plain(text: str) -> str:
    """Words with one blank between them, without case and accents."""
    return " ".join(_words(text[:INDEXED_CHARS_MAX]))


def terms(question: str) -> Sequence[str]:
    """The words to look for. Nothing in a question is syntax, so no question is wrong."""
    return _words(question[: TERMS_MAX * TERM_CHARS_MAX])[:TERMS_MAX]


def excerpt(text: str, wanted: Sequence[str]) -> str:
    """The surroundings of the first word that was looked for."""
    found = (m for m in _WORD.finditer(text) if _is_wanted(m.group(), wanted))
    match = next(found, None)
    middle = match.start() if match else 0
    start, stop = max(0, middle - AROUND_CHARS), middle + AROUND_CHARS
    cut = " ".join(text[start:stop].split())
    return f"{'…' if start else ''}{cut}{'…' if stop < len(text) else ''}"


def _words(text: str) -> list[str]:
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in apart if not unicodedata.combining(char))
    return [word[:TERM_CHARS_MAX] for word in _WORD.findall(text.casefold())]


def _is_wanted(word: str, wanted: Sequence[str]) -> bool:
    return any(part.startswith(term) for part in _words(word) for term in wanted)
