"""After some turns Hermes asks itself whether something is worth keeping, in a lane of its own.

An ear that hears what is committed. What it does is decided by the store, so a restart neither
repeats a review nor loses one: the k-th review of a conversation has one id for ever. It waits
until the conversation is quiet, and asks about one conversation at a time.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from hermes.core.channel import Manifest, ServiceHost
from hermes.core.errors import HermesError
from hermes.core.events import Event, Span, TurnEnded, TurnInterrupted
from hermes.core.ids import MessageId, SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Inbound, Line, Person, Reply
from hermes.core.people import derived
from hermes.core.principal import AudienceOf
from hermes.core.session import Idle, Session
from hermes.core.signals import Recorded, Signal
from hermes.memory.review import Record, labels, request, worked
from hermes.memory.session_keys import REVIEW, is_reviewed, is_with_one_person, review_lane
from hermes.memory.using import used_in
from hermes.ports.memory import TARGETS, Memories

MANIFEST = Manifest(name=REVIEW, audience="unattended", fetched=True)
LINES_MAX = 120  # that are looked at for a review
TURNS_MAX = 10_000  # that are counted
WAITING_MAX = 200  # conversations
COUNTED_MAX = 1_000
REVIEW_S_MAX = 900.0  # then the next review need not wait for this one any more
PORTRAIT_EVERY = 3  # reviews

T = TypeVar("T")
log = logging.getLogger("hermes.memory")


class ReviewPace(Struct, frozen=True, kw_only=True):
    """When to ask. 0 means never. `quiet_s`: how long a conversation must have been idle."""

    turns: int
    calls: int
    quiet_s: float = 3.0


class SilentChannel:
    """The channel of a review: its answer is in the journal, and goes to nobody. See `Channel`."""

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, _reply: Reply, _chunk: str, *, key: str) -> str:
        return key


class Reviewer:
    """See `Service`."""

    def __init__(self, memories: Callable[[], Memories], pace: ReviewPace) -> None:
        self._memories = memories
        self._pace = pace
        self._waiting: OrderedDict[SessionKey, tuple[TurnId, float]] = OrderedDict()
        self._spare: OrderedDict[SessionKey, tuple[SessionId, int]] = OrderedDict()
        self._due = asyncio.Event()
        self._reviewing: SessionKey | None = None
        self._ended = asyncio.Event()

    @property
    def name(self) -> str:
        return REVIEW

    async def run(self, host: ServiceHost) -> None:
        with host.watch(None, live=False) as feed:
            host.connected()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._work(host))
                while True:
                    self._hear(await feed.next(), host.audience)

    def _hear(self, signal: Signal, audience: AudienceOf) -> None:
        ended = _ended(signal.glimpse.events) if isinstance(signal.glimpse, Recorded) else None
        key = signal.session
        if ended is None:
            return
        if key == self._reviewing:
            self._ended.set()
        answered = isinstance(ended, TurnEnded) and ended.outcome == "answered"
        if answered and is_reviewed(key, audience):
            if key in self._spare:
                conversation, spare = self._spare[key]
                self._spare[key] = (conversation, spare - 1)
            self._waiting.pop(key, None)
            self._waiting[key] = (ended.turn, asyncio.get_running_loop().time())
            _bound(self._waiting, WAITING_MAX)
            self._due.set()

    async def _work(self, host: ServiceHost) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            while self._waiting:
                key, (turn, at) = next(iter(self._waiting.items()))
                noisy_s = at + self._pace.quiet_s - asyncio.get_running_loop().time()
                if noisy_s > 0:
                    await asyncio.sleep(noisy_s)
                    continue  # somebody may have spoken since
                del self._waiting[key]
                try:
                    await self._consider(host, key, turn)
                except HermesError as failed:
                    self._spare.pop(key, None)
                    log.warning("what %s may have taught is not looked at now: %s", key, failed)

    async def _consider(self, host: ServiceHost, key: SessionKey, turn: TurnId) -> None:
        if host.state() != "ready":
            return
        session = await host.store.journal.load(key)
        if not is_with_one_person(session):
            return
        if not isinstance(session.phase, Idle) or session.waiting:
            return  # somebody speaks; the end of that turn is heard, too
        start = max(0, session.rows - LINES_MAX)
        lines = await host.store.journal.lines([Span(session.id, start)])
        await self._note_use([line for line in lines if line.turn == turn])
        skill = bool(self._pace.calls) and worked(lines, turn) >= self._pace.calls
        number = await self._number(host, session)
        if number:
            portrait = number % PORTRAIT_EVERY == 0
            record = Record(lines=lines, facts=True, skill=skill, portrait=portrait)
            name = f"{self._pace.turns}.{number}"
            if await self._ask(host, session, turn, record, name):
                return
        if skill:
            record = Record(lines=lines, facts=False, skill=True, portrait=False)
            await self._ask(host, session, turn, record, turn)

    async def _number(self, host: ServiceHost, session: Session) -> int:
        """The how-manieth review may be due; 0 when none can be. A second one of the same number
        is refused by the store."""
        every = self._pace.turns
        conversation, spare = self._spare.get(session.key, (session.id, 0))
        if not every or (conversation == session.id and spare > 0):
            return 0
        turns = await host.store.library.turns(limit=TURNS_MAX, key=session.key)
        count = sum(turn.session == session.id and turn.state == "answered" for turn in turns)
        self._spare[session.key] = (session.id, every - count % every)
        _bound(self._spare, COUNTED_MAX)
        return count // every

    async def _ask(
        self, host: ServiceHost, session: Session, turn: TurnId, record: Record, name: str
    ) -> bool:
        """False when that had been asked before. Returns when the review is over."""
        self._reviewing = review_lane(session.id, turn)
        self._ended.clear()
        asked = Inbound(
            id=MessageId(f"{session.id}/{name}"),
            account=REVIEW,
            session=self._reviewing,
            sender=Person(id=REVIEW),
            address=Address(platform=REVIEW, chat=session.id),
            text=request(record),
            at=host.clock(),
            origin="review",
            labels=labels(record.lines, session.view.labels),
        )
        if not (await host.accept(derived(asked))).fresh:
            return False
        try:
            async with asyncio.timeout(REVIEW_S_MAX):
                await self._ended.wait()
        except TimeoutError:
            log.warning("a review takes long; the next one does not wait for it")
        return True

    async def _note_use(self, lines: Sequence[Line]) -> None:
        memories = self._memories()
        entries = [e for t in TARGETS for e in await asyncio.to_thread(memories.entries, t)]
        if used := used_in(entries, lines):
            await asyncio.to_thread(memories.used, used)


def _bound(some: "OrderedDict[SessionKey, T]", most: int) -> None:
    while len(some) > most:
        some.popitem(last=False)


def _ended(events: Sequence[Event]) -> TurnEnded | TurnInterrupted | None:
    ends = [event for event in events if isinstance(event, TurnEnded | TurnInterrupted)]
    return ends[-1] if ends else None
