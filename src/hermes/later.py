"""What is made at its first use, and then kept: a process that waits holds nothing of a turn.

Part of the composition root. Whatever could be wrong with the settings of such a thing is looked at
before, when the process starts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
T_co = TypeVar("T_co", covariant=True)


class Later(Generic[T_co]):
    """Calling it gives the thing, which is made by the first call."""

    def __init__(self, make: Callable[[], T_co]) -> None:
        self._make = make

    def __call__(self) -> T_co:
        return self._made

    @property
    def is_made(self) -> bool:
        return "_made" in self.__dict__

    @cached_property
    def _made(self) -> T_co:
        return self._make()


class LaterMapping(Mapping[K, V]):
    def __init__(self, make: Callable[[], Mapping[K, V]]) -> None:
        self._made = Later(make)

    def __getitem__(self, key: K) -> V:
        return self._made()[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())


class LaterSequence(Sequence[T_co]):
    def __init__(self, make: Callable[[], Sequence[T_co]]) -> None:
        self._made = Later(make)

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...

    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        return self._made()[index]

    def __len__(self) -> int:
        return len(self._made())
