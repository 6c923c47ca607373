"""What happens, as it happens, for whoever watches: streamed text, and events just committed.

Nobody waits for a watcher: a feed that is not read loses its oldest signals and knows how many.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from hermes.core.ids import SessionKey
from hermes.core.signals import Emit, Recorded, Signal

SIGNALS_MAX = 2_000


class LiveFeed:
    """One watcher's own queue."""

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self._signals: deque[Signal] = deque()
        self._bell = asyncio.Event()
        self._missed = 0

    def put(self, signal: Signal) -> None:
        if len(self._signals) >= SIGNALS_MAX:
            self._signals.popleft()
            self._missed += 1
        self._signals.append(signal)
        self._bell.set()

    async def next(self) -> Signal:
        while not self._signals:
            self._bell.clear()
            await self._bell.wait()
        return self._signals.popleft()

    @property
    def missed(self) -> int:
        missed, self._missed = self._missed, 0
        return missed


class Hub:
    """Every signal to everyone who watches its session, or all sessions.

    `listeners` hear each one at once, in the process, and none is lost to them.
    """

    def __init__(self) -> None:
        self._feeds: dict[SessionKey | None, list[LiveFeed]] = {}
        self.listeners: list[Emit] = []

    def emit(self, signal: Signal) -> None:
        for listener in self.listeners:
            listener(signal)
        durable = isinstance(signal.glimpse, Recorded)
        for key in (signal.session, None):
            for feed in self._feeds.get(key, ()):
                if durable or feed.live:
                    feed.put(signal)

    @contextmanager
    def watch(self, key: SessionKey | None, *, live: bool = True) -> Iterator[LiveFeed]:
        feed = LiveFeed(live=live)
        self._feeds.setdefault(key, []).append(feed)
        try:
            yield feed
        finally:
            self._feeds[key].remove(feed)
            if not self._feeds[key]:
                del self._feeds[key]
