"""An event loop whose time is a number: sleeping costs nothing, and every run is the same run."""

import asyncio
import contextvars
import selectors
from collections.abc import Coroutine
from typing import Any

WHOSE: contextvars.ContextVar[str] = contextvars.ContextVar("whose", default="")


class _Selector(selectors.SelectSelector):
    """Where a real loop would wait, this one moves its clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits for somebody else: a deadlock")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Tasks remember on whose behalf they were made, so that one process of many can die."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)
        self.tasks: dict[asyncio.Task[Any], str] = {}
        self.set_task_factory(self._made)  # type: ignore[arg-type]

    def time(self) -> float:
        return self._virtual.now

    def kill(self, whose: str) -> list["asyncio.Task[Any]"]:
        """All tasks of one process stop where they are."""
        doomed = [t for t, owner in self.tasks.items() if owner == whose and not t.done()]
        for task in doomed:
            task.cancel()
        return doomed

    def _made(
        self, _: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any
    ) -> "asyncio.Task[Any]":
        task = asyncio.Task(work, loop=self, **options)
        self.tasks[task] = WHOSE.get()
        task.add_done_callback(lambda done: self.tasks.pop(done, None))
        return task


def run(work: Coroutine[Any, Any, None]) -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()
