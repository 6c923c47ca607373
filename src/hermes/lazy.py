"""Import modules, and make values, at their first use: the one way to do that in this package.

A start pays for each module in time and, for as long as the process runs, in memory; most processes
need a small part of what is there. Declare a lazy module like this, so that type checkers, editors
and the check of the layers see an ordinary import:

    if TYPE_CHECKING:
        from hermes.tools import reading
    else:
        reading = LazyModule("hermes.tools.reading")

This file imports nothing of ours, so every module may import it.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
T_co = TypeVar("T_co", covariant=True)


class LazyModule:
    """Import a module when a name in it is first used. An import that fails raises its error at
    every use until it succeeds."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        # Not importlib's: `-X importtime` reports only what comes this way. With a list of names
        # it returns the module itself instead of the first part of its name.
        module = __import__(self.__name__, fromlist=("__name__",))
        try:
            value = module.__dict__[attribute]
        except KeyError:
            raise AttributeError(f"{self.__name__} has no {attribute}") from None
        self.__dict__[attribute] = value  # the next use does not come here
        return value


class Lazy(Generic[T_co]):
    """Return a value when called. The first call makes the value; later calls return the same
    one."""

    def __init__(self, make: Callable[[], T_co]) -> None:
        self._make = make

    def __call__(self) -> T_co:
        return self._value

    @property
    def is_made(self) -> bool:
        return "_value" in self.__dict__

    @cached_property
    def _value(self) -> T_co:
        return self._make()


class LazyMapping(Mapping[K, V]):
    """A mapping whose content is made when it is first read."""

    def __init__(self, make: Callable[[], Mapping[K, V]]) -> None:
        self._mapping = Lazy(make)

    def __getitem__(self, key: K) -> V:
        return self._mapping()[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._mapping())

    def __len__(self) -> int:
        return len(self._mapping())


class LazySequence(Sequence[T_co]):
    """A sequence whose content is made when it is first read."""

    def __init__(self, make: Callable[[], Sequence[T_co]]) -> None:
        self._sequence = Lazy(make)

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...

    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        return self._sequence()[index]

    def __len__(self) -> int:
        return len(self._sequence())


class LazyPattern:
    """A regular expression that is compiled at its first use. A pattern with character ranges of
    all scripts takes milliseconds to compile."""

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
        """Return all matches. The pattern must have at most one group."""
        return self.compiled.findall(text)

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.compiled.sub(by, text)

    def subn(self, by: str, text: str) -> tuple[str, int]:
        return self.compiled.subn(by, text)
