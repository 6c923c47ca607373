"""One chat that follows one session: events in order, live text, replies to show.

Each event is sent once, and each reply after the event that made it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from hermes.channels.local.wire import Delivered, Following, Happened, Told, glimpsed
from hermes.core.channel import ChannelHost, Feed
from hermes.core.ids import SessionKey
from hermes.core.projection import replies_of
from hermes.core.signals import Recorded, Signal

LOOK_S = 1.0  # another process may work on the session; it sends no signals to this one


class LocalFollower:
    """`want` is called when there may be replies to deliver."""

    def __init__(
        self,
        key: SessionKey,
        host: ChannelHost,
        *,
        live: bool,
        tell: Callable[[Told], Awaitable[None]],
        want: Callable[[], object],
    ) -> None:
        self.key = key
        self._door = host
        self._live = live
        self._tell = tell
        self._want = want
        self._position = 0
        self._offered: list[Delivered] = []
        self._due: list[tuple[int, Delivered]] = []
        self._bell = asyncio.Event()

    def offer(self, said: Delivered) -> None:
        self._offered.append(said)
        self._bell.set()

    async def begin(self, n: int, after: int | None) -> int:
        """Return the session's current position."""
        row = await self._door.store.library.find(self.key)
        head = row.events if row is not None else 0  # also of one that cannot be read
        self._position = head if after is None else after
        await self._tell(Following(n, head))
        return head

    async def run(self, feed: Feed) -> None:
        """Follow until cancelled. The feed was opened before `begin`, so no event is missed."""
        await self._catch_up()
        self._want()
        signal = asyncio.create_task(feed.next())
        admit_stranger = asyncio.create_task(self._bell.wait())
        try:
            while True:
                done, _ = await asyncio.wait(
                    {signal, admit_stranger}, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED
                )
                if signal in done:
                    await self._take(signal.result())
                    signal = asyncio.create_task(feed.next())
                if admit_stranger in done:
                    await self._line_up()
                    admit_stranger = asyncio.create_task(self._bell.wait())
                if not done or feed.missed:
                    await self._catch_up()
        finally:
            signal.cancel()
            admit_stranger.cancel()

    async def _take(self, signal: Signal) -> None:
        if isinstance(signal.glimpse, Recorded):
            await self._catch_up(signal.glimpse.position)
        elif self._live and (said := glimpsed(signal)) is not None:
            await self._tell(said)

    async def _catch_up(self, until: int | None = None) -> None:
        """Send the recorded events up to this position, so that no text of an answer comes after
        the answer. The journal decides; a signal only says that reading is worthwhile."""
        if until is None or until > self._position:
            events = await self._door.store.journal.since(self.key, self._position)
            stop = len(events) if until is None else until - self._position
            for event in events[:stop]:
                self._position += 1
                await self._tell(Happened(self.key, event, self._position))
                if replies_of(event):
                    self._want()
        ready = [said for due, said in self._due if due <= self._position]
        self._due = [(due, said) for due, said in self._due if due > self._position]
        for said in ready:
            await self._tell(said)

    async def _line_up(self) -> None:
        """Find the event that made each reply; show a reply whose event was sent already."""
        self._bell.clear()
        offered, self._offered = self._offered, []
        events = await self._door.store.journal.since(self.key, self._position)
        made = {
            reply.id: self._position + n
            for n, event in enumerate(events, start=1)
            for reply in replies_of(event)
        }
        self._due += [(made.get(said.reply.id, 0), said) for said in offered]
        await self._catch_up(self._position)
