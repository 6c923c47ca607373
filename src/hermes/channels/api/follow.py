"""Follow one message until it is answered, in whichever process its turn runs.

The feed has the events of this process. When it is silent for a while, the journal is read, because
another process may run the turn.
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
    """The clients that wait for news. All of them are woken when the server closes."""

    def __init__(self) -> None:
        self.closing = False
        self._waiting: set[asyncio.Timeout] = set()

    async def next(self, feed: Feed, seconds: float) -> Signal | None:
        """Return the next signal; None after a silence, or at once when the server closes."""
        found: list[Signal] = []

        def take(signal: Signal) -> bool:
            found.append(signal)
            return True

        return found[0] if await self.hear(feed, seconds, take) else None

    async def hear(self, feed: Feed, seconds: float, take: Callable[[Signal], bool]) -> bool:
        """Pass signals on until one is enough. Return False if the time ran out first."""
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

    `live` events came through the feed, so text that streams after them is seen from its beginning.
    """

    events: tuple[e.Event, ...] = ()
    live: bool = False
    glimpse: TextDelta | Retrying | None = None
    gap: bool = False  # signals were dropped before this


class TurnFollower:
    """Follows one message, and knows how far it has been answered."""

    def __init__(
        self, journal: Journal, feed: Feed, waits: Waits, accepted: Accepted, message: str
    ) -> None:
        self._journal, self._feed, self._waits = journal, feed, waits
        self._key, self._seen, self._message = accepted.key, accepted.position, message
        self.answer: MessageAnswer = NOTHING_YET
        self.at = 0.0  # when it came to stand so

    @property
    def settled(self) -> bool:
        """Return True if nothing more happens until a person writes."""
        return self.answer.state in SETTLED

    async def read(self) -> tuple[e.Event, ...]:
        """Read the events that the journal has since the last read."""
        events = tuple(await self._journal.since(self._key, self._seen))
        self._fold(events)
        return events

    async def settle(self) -> bool:
        """Follow until the message is answered, for at most a second. It is much cheaper than
        `news`, because it skips live text. Return False if this process did no work on the message
        meanwhile."""
        heard = await self._waits.hear(self._feed, LOOK_S, self._enough)
        if not self.settled:
            await self.read()
        return heard

    async def news(self) -> News:
        """Return what happened, waiting at most a second; empty news after a silence."""
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
        """Apply the signal. Return True if the journal must be read now, or not any more."""
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
        """Return True for a command that only continues a turn (/approve, /deny, /retry) or queues
        a message (/queue): its answer is what that turn says."""
        match before:
            case e.QuestionAnswered(turn=turn) | e.TurnResumed(turn=turn):
                return MessageAnswer(state="running", turn=turn)
            case e.MessageReceived(inbound=queued) if ref(queued).startswith(f"{self._message}/"):
                self._message = ref(queued)
                return NOTHING_YET
            case _:
                return after
