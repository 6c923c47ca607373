"""The engine: messages in, sessions forward, replies out, over one store.

`serve` runs it for long; a chat in a terminal runs it for one session.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager

from msgspec import Struct, field

from hermes.core.channel import Desk, GatewayState, Status
from hermes.core.errors import Fenced, Refused, Rejected, RowUnreadable, StoreFailed
from hermes.core.ids import NodeId, SessionKey
from hermes.core.messages import Inbound
from hermes.core.session import Asking, Running
from hermes.core.store import Accepted, Claim, Journal, Store
from hermes.gateway.delivery import Delivery
from hermes.gateway.intake import Intake
from hermes.gateway.lanes import Lane, Lanes
from hermes.gateway.live import Hub
from hermes.gateway.present import Present
from hermes.gateway.purse import Purse
from hermes.gateway.standing import Standing
from hermes.gateway.supervise import beside, keep_running, survived
from hermes.gateway.worker import Worker

CLAIMS_MAX = 50
OWNED_MAX = 1_000
OVERDUE_MAX = 100
AGAIN_S = 1.0
UNREADABLE = "what is stored of this conversation cannot be read (see the log, or hermes doctor)"
SURE_BEATS = 2  # of the three that fit into a lease

log = logging.getLogger("hermes.gateway")


class Gateway(Struct, kw_only=True):
    store: Store
    intake: Intake
    worker: Worker
    delivery: Delivery
    node: NodeId
    lanes: Lanes
    beat_s: float
    hub: Hub
    present: Present
    purse: Purse
    standing: Standing
    outgoing: asyncio.Event = field(default_factory=asyncio.Event)
    failure: StoreFailed | None = None  # the last one that ended a session's work
    unreadable: set[SessionKey] = field(default_factory=set)  # set aside by this process
    seen_at: float = 0.0  # when we last heard that we are alive in the eyes of others

    async def accept(self, inbound: Inbound) -> Accepted:
        """Durable when this returns; the session moves on by itself then."""
        _demand_readable(self.unreadable, inbound.session)
        accepted, event = await self.intake.take(inbound)
        if accepted.fresh:
            lane = self.lanes.get(accepted.key)
            if lane is not None and lane.learn(event, accepted.position):
                self._start(lane)
            else:
                await self.dispatch(accepted.key)
                _demand_readable(self.unreadable, accepted.key)
        return accepted

    async def dispatch(self, key: SessionKey) -> None:
        """There is news for a session: whoever owns it looks; if nobody does, we take it."""
        lane = self.lanes.get(key)
        if lane is not None:
            self._wake(lane)
            return
        for claim in await self.store.journal.claim(self.node, limit=1, only=key):
            await self._begin(claim)

    @asynccontextmanager
    async def joined(self, seat: str = "") -> AsyncIterator[None]:
        """Alive in the eyes of others for as long as the block runs."""
        await self.store.nodes.join(self.node, seat=seat)
        self.seen_at = asyncio.get_running_loop().time()
        await self.purse.look()
        await self.standing.look()
        async with beside(keep_running("beat", self._beat)):
            yield

    async def settle(self, key: SessionKey) -> None:
        """One session until it rests; `deliver` then sends its replies. Other sessions are left
        to whoever runs them.

        Raises a StoreFailed when the session cannot go on because nothing can be written.
        """
        self.failure = None
        await self.dispatch(key)
        while not await self._rested(key):
            if self.failure is not None:
                raise self.failure
            await self.store.nodes.wake(AGAIN_S)
            await self.dispatch(key)

    async def deliver(self, key: SessionKey) -> None:
        """Send what waits for a session's people, until nothing more can be sent now."""
        while (await self.delivery.flush(only=key)).done:
            pass

    async def _rested(self, key: SessionKey) -> bool:
        """By our own worker, or by what the journal says when another process has the session."""
        while (lane := self.lanes.get(key)) is not None:
            if lane.task is None or lane.task.done():
                return True
            await asyncio.wait({lane.task})
        session = await self.store.journal.load(key)
        return not session.waiting and not isinstance(session.phase, Running)

    async def look_after(self) -> None:
        """Sessions of ours that others wrote to, and whom others let in or sent away."""
        await self.look_at_people()
        for owned in await self.store.journal.owned(self.node, limit=OWNED_MAX):
            lane = self.lanes.get(owned.key)
            if owned.key in self.unreadable:
                continue
            if lane is None or not lane.busy or lane.session.position < owned.head:
                await self._begin(owned)

    async def claim_all(self) -> int:
        """Take over sessions with something to do that nobody alive works on. Returns how many."""
        claims = await self.store.journal.claim(self.node, limit=CLAIMS_MAX)
        for claim in claims:
            await self._begin(claim)
        return len(claims)

    def reconsider(self) -> None:
        """What was decided may be decided otherwise now."""
        for lane in (*self.lanes.resting(), *self.lanes.working()):
            if isinstance(lane.session.phase, Running | Asking) or lane.session.waiting:
                self._wake(lane)

    async def look_at_people(self) -> None:
        if await self.standing.look():
            self.reconsider()

    def is_sure(self) -> bool:
        """Nobody can have taken our sessions yet. What is shown without a commit needs that."""
        return asyncio.get_running_loop().time() - self.seen_at < SURE_BEATS * self.beat_s

    def state(self) -> GatewayState:
        state = self.present.state
        return "cut_off" if state == "ready" and not self.is_sure() else state

    async def status(self) -> Status:
        running = sum(isinstance(lane.session.phase, Running) for lane in self.lanes.working())
        counts = await self.store.library.counts()
        return self.present.status(running, counts)

    def desk(self) -> Desk:
        return Desk(
            store=self.store,
            media=self.delivery.media,
            accept=self.accept,
            status=self.status,
            consider=self.worker.agent.consider,
            clock=self.present.clock,
        )

    async def _begin(self, claim: Claim) -> None:
        lane = self.lanes.get(claim.key)
        if lane is None or lane.epoch != claim.epoch:
            try:
                fresh = await self.worker.open(claim)
            except (RowUnreadable, Refused) as broken:
                self.unreadable.add(claim.key)
                log.warning("%s is set aside, it cannot be read: %s", claim.key, broken)
                return
            lane = self.lanes.get(claim.key)  # somebody may have been quicker
            if lane is None or lane.epoch != claim.epoch:
                lane = fresh
                self.lanes.put(lane)
        self._wake(lane)

    def _wake(self, lane: Lane) -> None:
        lane.ring()
        self._start(lane)

    def _start(self, lane: Lane) -> None:
        if not lane.busy:
            work = survived(lambda: self._advance(lane), lambda error: self._lost(lane, error))
            lane.task = asyncio.create_task(work)

    async def _advance(self, lane: Lane) -> None:
        await self.worker.advance(lane, self.desk())
        self.lanes.rested(lane)
        self.outgoing.set()

    async def _lost(self, lane: Lane, error: Exception) -> None:
        """Forget the session; a later claim reads it anew, under another epoch."""
        key = lane.session.key
        if self.lanes.get(key) is lane:
            self.lanes.drop(key)
        if isinstance(error, StoreFailed):
            self.failure = error
        if not isinstance(error, Fenced):
            log.error("%s stopped: %s", key, error, exc_info=error)
            await _released(self.store.journal, key, self.node)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.beat_s)
            began = asyncio.get_running_loop().time()
            if not await self.store.nodes.beat(self.node):
                raise Fenced(f"node {self.node} was taken for dead while it slept")
            self.seen_at = began
            await self.purse.look()
            await self.look_at_people()
            await let_expire(self)


async def _released(journal: Journal, key: SessionKey, node: NodeId) -> None:
    try:
        await journal.release([key], node=node)
    except StoreFailed as failure:
        log.warning("%s stays ours until the store can be written to: %s", key, failure)


def _demand_readable(unreadable: Container[SessionKey], key: SessionKey) -> None:
    if key in unreadable:
        raise Rejected(UNREADABLE)


async def let_expire(engine: Gateway) -> None:
    """Sessions that wait for an answer whose time is over go on without it."""
    for key in await engine.store.library.overdue(engine.present.clock(), limit=OVERDUE_MAX):
        await engine.dispatch(key)
