"""Find the entries that a turn used, by the words that occur in it. Pure.

Every entry is in every prompt, so its presence proves nothing, and asking a model would cost too
much. Matching words is cheap, and good enough to find the entries that are never used.
"""

import re
from collections.abc import Sequence

from hermes.core.messages import Line
from hermes.ports.memory import MemoryEntry

WORD = re.compile(r"\w{4,}")
WORDS_MIN = 2
SHARE = 0.5
TEXT_CHARS_MAX = 50_000


def used_in(entries: Sequence[MemoryEntry], lines: Sequence[Line]) -> tuple[str, ...]:
    """Return ids of entries of which at least half of the longer words occur, and at least two of
    them (or all if there are fewer)."""
    said = _words(" ".join(line.text for line in lines if line.role != "tool")[:TEXT_CHARS_MAX])
    return tuple(entry.id for entry in entries if _is_said(_words(entry.text), said))


def _is_said(words: frozenset[str], said: frozenset[str]) -> bool:
    hits = len(words & said)
    return bool(words) and hits >= min(WORDS_MIN, len(words)) and hits >= SHARE * len(words)


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.lower()))
