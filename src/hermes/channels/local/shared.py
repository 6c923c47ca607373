"""One subscription for each session that chats follow, and the text of its answer so far.

A chat that connects in the middle of an answer gets its beginning first, so a subscription stays
open after the last chat has left, until the turn ends.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from hermes.core.channel import ChannelHost, Feed
from hermes.core.events import (
    Event,
    ModelAnswered,
    QuestionAsked,
    TurnEnded,
    TurnInterrupted,
    TurnResumed,
)
from hermes.core.ids import SessionKey, TurnId
from hermes.core.signals import Recorded, Retrying, Signal, TextDelta

SIGNALS_MAX = 2_000
HEARD_CHARS_MAX = 200_000
_BEGINS_ANEW = (ModelAnswered, TurnResumed, TurnEnded, TurnInterrupted)
_RESTS = (TurnEnded, TurnInterrupted, QuestionAsked)


class Share:
    """One chat's queue of a shared subscription. If it is not read, it drops the oldest signals and
    counts them."""

    def __init__(self, begun: Signal | None) -> None:
        self._signals: deque[Signal] = deque([begun] if begun is not None else [])
        self._bell = asyncio.Event()
        self._missed = 0

    def put(self, signal: Signal) -> None:
        if len(self._signals) >= SIGNALS_MAX:
            self._signals.popleft()
            self._missed += 1
        self._signals.append(signal)
        self._bell.set()

    def lose(self, missed: int) -> None:
        self._missed += missed

    def skip(self, position: int) -> None:
        """Drop the text up to this position: it belongs to an answer that is known."""
        known = [n for n, signal in enumerate(self._signals) if _is_known(signal, position)]
        for _ in range(known[-1] + 1 if known else 0):
            self._signals.popleft()

    async def next(self) -> Signal:
        while not self._signals:
            self._bell.clear()
            await self._bell.wait()
        return self._signals.popleft()

    @property
    def missed(self) -> int:
        missed, self._missed = self._missed, 0
        return missed


NONE = TurnId("")


class _Ear(Struct, kw_only=True):
    key: SessionKey
    shares: list[Share] = field(default_factory=list)
    heard: str = ""
    turn: TurnId = NONE
    rests: bool = False  # the turn that was heard last is over
    task: "asyncio.Task[None] | None" = None

    @property
    def idle(self) -> bool:
        return not self.shares and (self.rests or not self.turn)

    def hear(self, signal: Signal) -> None:
        match signal.glimpse:
            case TextDelta(text=text):
                self.turn, self.rests = signal.turn, False
                if len(self.heard) < HEARD_CHARS_MAX:
                    self.heard = (self.heard + text)[:HEARD_CHARS_MAX]
            case Retrying():
                self.heard = ""
            case Recorded(events=events):
                for event in events:
                    self._record(event)
            case _:
                self.turn, self.rests = signal.turn or self.turn, False
        for share in self.shares:
            share.put(signal)

    def _record(self, event: Event) -> None:
        if isinstance(event, _BEGINS_ANEW):
            self.heard = ""
        if isinstance(event, _RESTS):
            self.rests = True
        elif isinstance(event, ModelAnswered | TurnResumed):
            self.turn, self.rests = event.turn, False

    def lose(self, missed: int) -> None:
        self.heard = ""
        for share in self.shares:
            share.lose(missed)

    def begun(self) -> Signal | None:
        return Signal(self.key, self.turn, TextDelta(self.heard)) if self.heard else None


class LocalReceivers:
    """At most one subscription for each session that a chat follows, or followed when its turn
    began."""

    def __init__(self) -> None:
        self._ears: dict[SessionKey, _Ear] = {}

    @contextmanager
    def listening(self, key: SessionKey, host: ChannelHost) -> Iterator[Share]:
        receiver = self._ears.get(key)
        if receiver is None:
            receiver = self._ears[key] = _Ear(key=key)
            feed = host.watch(key)
            receiver.task = asyncio.create_task(self._listen(receiver, feed.__enter__()))
            receiver.task.add_done_callback(lambda _: feed.__exit__(None, None, None))
        share = Share(receiver.begun())
        receiver.shares.append(share)
        try:
            yield share
        finally:
            receiver.shares.remove(share)
            self._leave(receiver)

    async def close(self) -> None:
        tasks = [receiver.task for receiver in self._ears.values() if receiver.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._ears.clear()

    async def _listen(self, receiver: _Ear, feed: Feed) -> None:
        while True:
            receiver.hear(await feed.next())
            if missed := feed.missed:
                receiver.lose(missed)
            self._leave(receiver)

    def _leave(self, receiver: _Ear) -> None:
        if receiver.idle and receiver.task is not None and self._ears.get(receiver.key) is receiver:
            del self._ears[receiver.key]
            receiver.task.cancel()


def _is_known(signal: Signal, position: int) -> bool:
    return isinstance(signal.glimpse, Recorded) and signal.glimpse.position <= position
