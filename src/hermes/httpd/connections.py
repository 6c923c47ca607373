"""All connections of one server: how many it accepts, and how they are closed at shutdown."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Protocol

Done = Callable[["asyncio.Task[None]"], None]


class Connection(Protocol):
    """A connection. `idle_since` has a value while it waits for the head of a request."""

    idle_since: float | None

    def abort(self) -> None: ...

    def retire(self) -> None:
        """Close after the answer that is being written."""


class Connections:
    def __init__(self, most: int) -> None:
        self._most = most
        self._guests: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._news: asyncio.Future[None] | None = None
        self._dismissed = False

    @property
    def is_full(self) -> bool:
        return len(self._guests) >= self._most

    def enter(self, guest: Connection) -> None:
        """Add a connection. When the limit is reached, the one that has been idle for longest is
        closed. During shutdown a new connection is closed at once."""
        self._guests.add(guest)
        if self._dismissed:
            guest.abort()
            return
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

    def leave(self, guest: Connection) -> None:
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
        """Shut down: let running requests finish within the grace period, then close all
        connections."""
        self._dismissed = True
        for guest in list(self._guests):
            guest.retire()
        late = await _wait_for(self._tasks, grace_s)
        for task in late:
            task.cancel()
        await _wait_for(late, grace_s)
        if self._guests:
            self._news = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._news}, timeout=grace_s)
        for guest in list(self._guests):
            guest.abort()


async def _wait_for(tasks: "set[asyncio.Task[None]]", seconds: float) -> "set[asyncio.Task[None]]":
    """Wait for the tasks. Return those that are still running."""
    return (await asyncio.wait(tasks, timeout=seconds))[1] if tasks else set()
