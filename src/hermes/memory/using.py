"""Which entries a turn made use of: those whose telling words occur in what was said. Pure.

Every entry is in every prompt, so being there means nothing; and asking a model would cost more
than knowing is worth. Words are cheap, and honest enough to say which entries are dead weight.
"""

import re
from collections.abc import Sequence

from hermes.core.messages import Line
from hermes.views.memory import Entry

WORD = re.compile(r"\w{4,}")
WORDS_MIN = 2
SHARE = 0.5
TEXT_CHARS_MAX = 50_000


def used_in(entries: Sequence[Entry], lines: Sequence[Line]) -> tuple[str, ...]:
    """At least half of an entry's longer words, and at least two (or all there are), were said."""
    said = _words(" ".join(line.text for line in lines if line.role != "tool")[:TEXT_CHARS_MAX])
    return tuple(entry.id for entry in entries if _is_said(_words(entry.text), said))


def _is_said(words: frozenset[str], said: frozenset[str]) -> bool:
    hits = len(words & said)
    return bool(words) and hits >= min(WORDS_MIN, len(words)) and hits >= SHARE * len(words)


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.lower()))
