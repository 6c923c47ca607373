"""What the standard library has for rare moments, loaded when one comes.

A word that is misspelled, a date in a header, a proxy: each is dear to load, in time
and in memory that is never given back, and most processes need none of them. Whoever needs one
takes it from here.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

NEAR = 0.6  # how alike two words are, from 0 to 1
UNKNOWN_KIND = "application/octet-stream"


def likely(word: str, known: Iterable[str], *, most: int = 1, alike: float = NEAR) -> list[str]:
    """Those that may have been meant, the likeliest first."""
    from difflib import get_close_matches

    return get_close_matches(word, list(known), n=most, cutoff=alike)


def likeness(one: str, other: str) -> float:
    """How much of them is the same, from 0 to 1."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def changes(before: Sequence[str], after: Sequence[str], names: tuple[str, str]) -> Iterator[str]:
    """The lines of a unified diff."""
    from difflib import unified_diff

    return unified_diff(before, after, *names, lineterm="")


def escaped(text: str) -> str:
    """For XML and HTML; what may not be in it is a blank."""
    from html import escape

    return escape("".join(char if char.isprintable() else " " for char in text))


def moment_of(date: str) -> float:
    """A date as HTTP and mail write it. Raises ValueError, TypeError or OverflowError."""
    from email.utils import parsedate_to_datetime

    return parsedate_to_datetime(date).timestamp()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """One that goes away, with all that is in it."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="hermes-") as folder:
        yield Path(folder)


def proxies() -> Mapping[str, str]:
    """By scheme: those of the environment, and of a system that has settings for them."""
    if sys.platform == "linux" and not any(name.lower().endswith("_proxy") for name in os.environ):
        return {}
    from urllib.request import getproxies

    return getproxies()


def kind_of(file: str) -> str:
    """The media type of a file with this name."""
    from mimetypes import guess_type

    return guess_type(file)[0] or UNKNOWN_KIND
