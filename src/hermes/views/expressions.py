"""A regular expression that is compiled when it is first used: a process uses few of ours.

One with ranges of signs from all the world takes milliseconds, which every start would pay.
"""

import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property


class Expression:
    """What `re.compile` gives, later."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def match(self, text: str, start: int = 0, stop: int = sys.maxsize) -> re.Match[str] | None:
        return self.compiled.match(text, start, stop)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text)

    def search(self, text: str, start: int = 0, stop: int = sys.maxsize) -> re.Match[str] | None:
        return self.compiled.search(text, start, stop)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text)

    def findall(self, text: str) -> list[str]:
        """Of an expression with one group at most."""
        return self.compiled.findall(text)

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.compiled.sub(by, text)

    def subn(self, by: str, text: str) -> tuple[str, int]:
        return self.compiled.subn(by, text)
