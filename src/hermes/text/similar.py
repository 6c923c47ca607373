"""Compare texts: find a misspelt command, a quoted entry, and the changed lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import difflib
else:
    difflib = LazyModule("difflib")

NEAR = 0.6  # similarity of two words, from 0 to 1


def likely(word: str, known: Iterable[str], *, most: int = 1, alike: float = NEAR) -> list[str]:
    """Return the known words that may have been meant, the likeliest first."""
    return difflib.get_close_matches(word, list(known), n=most, cutoff=alike)


def likeness(one: str, other: str) -> float:
    """Return the similarity of two texts, from 0 to 1."""
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def changes(before: Sequence[str], after: Sequence[str], names: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of a unified diff."""
    return difflib.unified_diff(before, after, *names, lineterm="")
