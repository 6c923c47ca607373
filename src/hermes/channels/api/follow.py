"""Read on behind one message until it is answered, in whichever process its turn runs.

The feed tells what this process does; the journal is looked at whenever the feed is silent for a
moment, because another process may have the turn.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from hermes.core import events as e
from hermes.core.channel import Feed
from hermes.core.projection import at_of
from hermes.core.session import ref
from hermes.core.signals import Recorded, Retrying, Signal, TextDelta
from hermes.core.store import Accepted, Journal
from hermes.views.answer import FINAL, NOTHING_YET, MessageAnswer, answer_of

LOOK_S: Final = 1.0
SETTLED: Final = FINAL | {"asking"}


class Waits:
    """Everybody who waits for news; all of them look up when the server closes."""

    def __init__(self) -> None:
        self.closing = False
        self._waiting: set[asyncio.Timeout] = set()

    async def next(self, feed: Feed, seconds: float) -> Signal | None:
        """The next signal; None after a silence, and at once when the server closes."""
        found: list[Signal] = []

        def take(signal: Signal) -> bool:
            found.append(signal)
            return True

        return found[0] if await self.hear(feed, seconds, take) else None

    async def hear(self, feed: Feed, seconds: float, take: Callable[[Signal], bool]) -> bool:
        """Give signals away until it is enough; false when the time was over before."""
        if self.closing:
            return False
        wait = asyncio.timeout(seconds)
        try:
            async with wait:
                self._waiting.add(wait)
                while not take(await feed.next()):
                    pass
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(wait)
        return True

    def close(self) -> None:
        self.closing = True
        now = asyncio.get_running_loop().time()
        for wait in self._waiting:
            if not wait.expired():
                wait.reschedule(now)


class News(Struct, frozen=True):
    """What happened to the message: durable events, or live text of its turn.

    `live` events came by the feed: whatever streams behind them will be seen from its beginning.
    """

    events: tuple[e.Event, ...] = ()
    live: bool = False
    glimpse: TextDelta | Retrying | None = None
    gap: bool = False  # signals were dropped before this


class TurnFollower:
    """Where one message stands."""

    def __init__(
        self, journal: Journal, feed: Feed, waits: Waits, accepted: Accepted, message: str
    ) -> None:
        self._journal, self._feed, self._waits = journal, feed, waits
        self._key, self._seen, self._message = accepted.key, accepted.position, message
        self.answer: MessageAnswer = NOTHING_YET
        self.at = 0.0  # when it came to stand so

    @property
    def settled(self) -> bool:
        """Nothing more happens until somebody says something."""
        return self.answer.state in SETTLED

    async def read(self) -> tuple[e.Event, ...]:
        """Catch up with the journal."""
        events = tuple(await self._journal.since(self._key, self._seen))
        self._fold(events)
        return events

    async def settle(self) -> bool:
        """Read on until it is settled, for a second at most. Cheaper than `news` by far: live text
        is passed over. False when nobody here has worked on it meanwhile."""
        heard = await self._waits.hear(self._feed, LOOK_S, self._enough)
        if not self.settled:
            await self.read()
        return heard

    async def news(self) -> News:
        """Waits at most a second; silence gives news without anything in them."""
        signal = await self._waits.next(self._feed, LOOK_S)
        if signal is None:
            return News(await self.read())
        if self._feed.missed:
            return News(await self.read(), gap=True)
        match signal.glimpse:
            case Recorded(events=events, position=position):
                return await self._recorded(events, position)
            case TextDelta() | Retrying() as glimpse if signal.turn == self.answer.turn:
                return News(glimpse=glimpse)
            case _:
                return News(live=True)

    def _enough(self, signal: Signal) -> bool:
        """Take the signal in; true when the journal must be looked at, or need not any more."""
        if not isinstance(signal.glimpse, Recorded):
            return False
        events, position = signal.glimpse.events, signal.glimpse.position
        new = position - self._seen
        if self._feed.missed or new > len(events):
            return True
        if new > 0:
            self._fold(events[-new:])
        return self.settled

    async def _recorded(self, events: tuple[e.Event, ...], position: int) -> News:
        new = position - self._seen
        if new <= 0:
            return News(live=True)
        if new > len(events):  # others have written in between; what is behind will come, too
            events = tuple(await self._journal.since(self._key, self._seen))[:new]
        self._fold(events[-new:])
        return News(events[-new:], live=True)

    def _fold(self, events: Sequence[e.Event]) -> None:
        for n, event in enumerate(events):
            after = answer_of((event,), self._message, self.answer)
            if after.state == "done" != self.answer.state and not after.replies:
                after = self._gone_on(events[n - 1] if n else None, after)
            if after.state != self.answer.state:
                self.at = at_of(event)
            self.answer = after
        self._seen += len(events)

    def _gone_on(self, before: e.Event | None, after: MessageAnswer) -> MessageAnswer:
        """A command that only lets a turn go on (/approve, /deny, /retry), or puts a message into
        the queue (/queue), is answered by what comes of that."""
        match before:
            case e.QuestionAnswered(turn=turn) | e.TurnResumed(turn=turn):
                return MessageAnswer(state="running", turn=turn)
            case e.MessageReceived(inbound=queued) if ref(queued).startswith(f"{self._message}/"):
                self._message = ref(queued)
                return NOTHING_YET
            case _:
                return after
