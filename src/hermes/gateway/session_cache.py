"""The sessions that this process owns: folded state, transcript as read so far, work in flight."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from msgspec import Struct, field

from hermes.core.events import Event, MessageReceived, View
from hermes.core.fold import fold
from hermes.core.ids import SessionKey, TurnId
from hermes.core.messages import Line
from hermes.core.ports import ToolContext
from hermes.core.projection import Commit
from hermes.core.session import Session
from hermes.core.transcript import Reading

LANE_BYTES = 2_000
LINE_BYTES = 400  # what a line costs beside its text


class InFlight(Struct):
    """Work that waits for the outside world, and its turn, if any."""

    turn: TurnId | None
    task: "asyncio.Task[tuple[Event, ...]]"
    context: ToolContext | None = None  # of a call
    reached: bool = False  # a model has begun to answer


class ActiveSession(Struct):
    """One session that this process owns under `epoch`."""

    session: Session
    epoch: int
    lines: list[Line] | None = None  # None: not read yet
    reading: Reading = field(default_factory=lambda: Reading(View()))
    in_flight: dict[object, InFlight] = field(default_factory=dict)
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    news: bool = False  # somebody else has written to the session
    asked: bool = False  # a person asked again for its interrupted turn
    spoken_to: set[SessionKey] = field(default_factory=set)  # sessions that have not heard it yet
    told: list[Event] = field(default_factory=list)  # to be recorded, if it still fits
    task: "asyncio.Task[None] | None" = None
    snapshot_at: int = 0
    bytes: int = LANE_BYTES

    @property
    def busy(self) -> bool:
        return self.task is not None and not self.task.done()

    def ring(self) -> None:
        self.news = True
        self.bell.set()

    def tell(self, event: Event) -> None:
        """Add an event from outside of the worker to its next commit."""
        self.told.append(event)
        self.bell.set()

    def heard(self) -> tuple[Event, ...]:
        told, self.told = tuple(self.told), []
        return told

    def read(self, lines: Sequence[Line]) -> None:
        self.lines, self.reading = list(lines), Reading(self.session.view)
        self.bytes = LANE_BYTES + _cost(lines)

    def request(self) -> tuple[Line, ...]:
        """Return the request for the model."""
        assert self.lines is not None, "the transcript is read before a model is asked"
        return self.reading.request(self.session, self.lines)

    def learn(self, event: MessageReceived, position: int) -> bool:
        """Apply a message that this process accepted. Return False if the journal must be read
        instead."""
        if self.busy or self.news or position != self.session.position + 1:
            return False
        self.session = fold(self.session, event)
        return True

    def record(self, commit: Commit) -> None:
        """Fold our own commit, and read new rows if the view only grew."""
        grown = [row.line for row in commit.rows]
        if commit.after.view != self.session.view:
            self.lines = None
        elif self.lines is not None:
            self.lines += grown
            self.bytes += _cost(grown)
        self.session = commit.after


class SessionCache:
    """An LRU cache of sessions, bounded in bytes."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._counted: dict[SessionKey, int] = {}
        self._lanes: OrderedDict[SessionKey, ActiveSession] = OrderedDict()

    def get(self, key: SessionKey) -> ActiveSession | None:
        return self._lanes.get(key)

    def working(self) -> list[ActiveSession]:
        return [active for active in self._lanes.values() if active.busy]

    def resting(self) -> list[ActiveSession]:
        return [active for active in self._lanes.values() if not active.busy]

    def put(self, active: ActiveSession) -> None:
        self._lanes[active.session.key] = active

    def drop(self, key: SessionKey) -> None:
        self._lanes.pop(key, None)
        self._bytes -= self._counted.pop(key, 0)

    def rested(self, active: ActiveSession) -> None:
        """Move the session to the recent end of those that rest."""
        key = active.session.key
        self._bytes += active.bytes - self._counted.get(key, 0)
        self._counted[key] = active.bytes
        self._lanes.move_to_end(key)
        while self._bytes > self._bytes_max:
            oldest = next((k for k in self._counted if not self._lanes[k].in_flight), None)
            if oldest is None:
                return
            self.drop(oldest)


def _cost(lines: Sequence[Line]) -> int:
    return sum(LINE_BYTES + len(line.text) for line in lines)
