"""Everybody who is connected to one server: how many there is room for, and how they leave."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Protocol

Done = Callable[["asyncio.Task[None]"], None]


class Guest(Protocol):
    """A connection. `idle_since` has a value as long as it waits for the head of a request."""

    idle_since: float | None

    def abort(self) -> None: ...

    def retire(self) -> None:
        """Close, after the answer that is being written."""


class Crowd:
    def __init__(self, most: int) -> None:
        self._most = most
        self._guests: set[Guest] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._news: asyncio.Future[None] | None = None

    @property
    def is_full(self) -> bool:
        return len(self._guests) >= self._most

    def enter(self, guest: Guest) -> None:
        """When all places are taken, the one who has said nothing for longest gives up his."""
        self._guests.add(guest)
        if not self.is_full:
            return
        silent = [
            (each.idle_since, id(each), each)
            for each in self._guests
            if each is not guest and each.idle_since is not None
        ]
        if silent:
            one = min(silent)[2]
            one.idle_since = None
            one.abort()

    def leave(self, guest: Guest) -> None:
        self._guests.discard(guest)
        if not self._guests and self._news is not None and not self._news.done():
            self._news.set_result(None)

    def work(self, work: Coroutine[object, object, None], done: Done) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

        def ended(task: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            done(task)

        task.add_done_callback(ended)

    async def dismiss(self, grace_s: float) -> None:
        """Those who are being answered get their answers, if that does not take too long."""
        for guest in list(self._guests):
            guest.retire()
        late = await _ended(self._tasks, grace_s)
        for task in late:
            task.cancel()
        await _ended(late, grace_s)
        if self._guests:
            self._news = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._news}, timeout=grace_s)
        for guest in list(self._guests):
            guest.abort()


async def _ended(tasks: "set[asyncio.Task[None]]", seconds: float) -> "set[asyncio.Task[None]]":
    """Wait for them; returns those that go on."""
    return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else set()
