"""Publish live signals to subscribers: streamed text, and events just committed.

Publishing never waits. A feed that is not read drops its oldest signals and counts them.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from hermes.core.ids import SessionKey
from hermes.core.signals import Emit, Recorded, Signal

SIGNALS_MAX = 2_000


class LiveFeed:
    """The queue of one subscriber."""

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
    """Publishes every signal to the subscribers of its session, and of all sessions.

    `listeners` are called at once, in this process, and miss nothing.
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
