"""A loop on which every pause is a tenth of what it says, for code that waits for better times."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

PACE = 10.0


class _Selector(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else timeout / PACE)


class HastyLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__(_Selector())

    def time(self) -> float:
        return super().time() * PACE


def hastily(work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=HastyLoop) as runner:
        runner.run(work)
