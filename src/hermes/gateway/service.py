"""The engine: messages in, sessions forward, replies out, over one store.

`serve` runs it for long; a chat in a terminal runs it for one session.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct, field

from hermes.core.channel import Considered, GatewayState, GatewayStatus
from hermes.core.child_sessions import CALL
from hermes.core.errors import Fenced, Refused, Rejected, RowUnreadable, StoreClosed, StoreFailed
from hermes.core.ids import NodeId, SessionKey
from hermes.core.jobs import job_of
from hermes.core.messages import Inbound
from hermes.core.principal import AudienceOf
from hermes.core.salvage import leaves
from hermes.core.session import Idle, Running, Session, Waiting
from hermes.core.step import answers_question, command_name
from hermes.core.store import Accepted, Claim, Journal, MediaStore, Store
from hermes.gateway.delivery import Delivery
from hermes.gateway.intake import Intake
from hermes.gateway.live import Hub
from hermes.gateway.process_state import ProcessState
from hermes.gateway.session_cache import ActiveSession, SessionCache
from hermes.gateway.spending import SpendingCounter
from hermes.gateway.supervise import beside, cancelled, keep_running, survived
from hermes.gateway.trust_cache import TrustCache
from hermes.gateway.unreadable import UNREADABLE, demand_readable, set_aside
from hermes.gateway.worker import Worker

CLAIMS_MAX = 50
OWNED_MAX = 1_000
OVERDUE_MAX = 100
AGAIN_S = 1.0
SURE_BEATS = 2  # of the three that fit into a lease

log = logging.getLogger("hermes.gateway")


class Gateway(Struct, kw_only=True):
    """The engine, and what commands and tools may ask of it: see `CommandContext`."""

    store: Store
    intake: Intake
    worker: Worker
    delivery: Delivery
    node: NodeId
    sessions: SessionCache
    beat_s: float
    hub: Hub
    process: ProcessState
    spending: SpendingCounter
    trust_cache: TrustCache
    audience: AudienceOf  # who speaks on a platform
    outgoing: asyncio.Event = field(default_factory=asyncio.Event)
    failure: StoreFailed | None = None  # the last one that ended a session's work
    unreadable: set[SessionKey] = field(default_factory=set)  # set aside by this process
    preflight: Callable[[], Awaitable[str]] | None = None  # see CommandContext
    halted: bool = False  # no session is begun any more: the store is about to be closed
    seen_at: float = 0.0  # when we last heard that we are alive in the eyes of others

    async def accept(self, inbound: Inbound) -> Accepted:
        """Store a message, durable when this returns, and start its session."""
        if inbound.session in self.unreadable and not leaves(inbound):
            await demand_readable(self.store.journal, inbound.session)
            self.unreadable.discard(inbound.session)
        accepted, event = await self.intake.take(inbound)
        if accepted.fresh:
            self.delivery.windows.heard(inbound)
            active = self.sessions.get(accepted.key)
            if active is not None and active.learn(event, accepted.position):
                self.start(active)
            else:
                await self.dispatch(accepted.key)
                if accepted.key in self.unreadable:
                    raise Rejected(UNREADABLE)
        return accepted

    async def dispatch(self, key: SessionKey) -> None:
        """Wake the owner of a session that has news. If it has none, claim it."""
        active = self.sessions.get(key)
        if active is not None:
            self.wake(active)
            return
        for claim in await self.store.journal.claim(self.node, limit=1, only=key):
            await self._begin(claim)

    async def resume(self, key: SessionKey) -> None:
        """Resume an interrupted turn because a person asks again, with the sessions that work for
        it, whatever holds back automatic resumes."""
        for claim in await self.store.journal.claim(self.node, limit=1, only=key):
            await self._begin(claim, asked=True)
        for child in (await self.store.journal.load(key)).children:
            await self.resume(child)

    @asynccontextmanager
    async def joined(self, seat: str = "") -> AsyncIterator[None]:
        """Join as a node, and be alive for others until the block ends."""
        await self.store.nodes.join(self.node, seat=seat)
        self.seen_at = asyncio.get_running_loop().time()
        await self.spending.reload()
        await self.trust_cache.reload()
        async with beside(keep_running("beat", lambda: _beat(self))):
            try:
                yield
            finally:  # nothing is left that could use the store when it is closed
                self.halted = True
                working = [
                    active.task for active in self.sessions.working() if active.task is not None
                ]
                await cancelled([*working, *self.delivery.under_way()])

    async def settle(self, key: SessionKey) -> None:
        """Move one session until it rests; `deliver` then sends its replies. Other sessions are
        left to their owners.

        Raise StoreFailed when the session cannot continue because nothing can be written.
        """
        self.failure = None
        await dispatch_family(self, key)
        while not await _rested(self, key):
            if self.failure is not None:
                raise self.failure
            await _moved(self)
            await dispatch_family(self, key)

    async def deliver(self, key: SessionKey) -> None:
        """Send what waits for a session's people, until nothing more can be sent now."""
        while (await self.delivery.flush(only=key)).done:
            pass

    async def look_after(self) -> None:
        """Read sessions of ours that others wrote to, and the register of people."""
        await self.look_at_people()
        for owned in await self.store.journal.owned(self.node, limit=OWNED_MAX):
            active = self.sessions.get(owned.key)
            if active is None or not active.busy or active.session.position < owned.head:
                await self._begin(owned)

    async def claim_all(self) -> int:
        """Take over sessions with something to do that nobody alive works on. Returns how many."""
        claims = await self.store.journal.claim(self.node, limit=CLAIMS_MAX)
        for claim in claims:
            await self._begin(claim)
        return len(claims)

    def reconsider(self) -> None:
        """Decide again about all open work, because something that decisions read has changed."""
        for active in (*self.sessions.resting(), *self.sessions.working()):
            if isinstance(active.session.phase, Running | Waiting) or active.session.waiting:
                self.wake(active)

    async def look_at_people(self) -> None:
        if await self.trust_cache.reload():
            self.reconsider()

    def is_sure(self) -> bool:
        """Return True if no other node can have taken our sessions yet. Showing anything without a
        commit requires it."""
        return asyncio.get_running_loop().time() - self.seen_at < SURE_BEATS * self.beat_s

    def state(self) -> GatewayState:
        state = self.process.state
        return "cut_off" if state == "ready" and not self.is_sure() else state

    async def status(self) -> GatewayStatus:
        running = sum(
            isinstance(active.session.phase, Running) for active in self.sessions.working()
        )
        counts = await self.store.library.counts()
        return self.process.status(running, counts)

    @property
    def media(self) -> MediaStore:
        return self.delivery.media

    async def consider(self, purpose: str, task: str, text: str) -> Considered:
        return await self.worker.agent.consider(purpose, task, text)

    def clock(self) -> float:
        return self.process.clock()

    async def _begin(self, claim: Claim, *, asked: bool = False) -> None:
        active = self.sessions.get(claim.key)
        if active is None or active.epoch != claim.epoch:
            try:
                fresh = await self.worker.open(claim)
            except (RowUnreadable, Refused) as broken:
                if claim.key not in self.unreadable:
                    log.warning("%s is set aside, it cannot be read: %s", claim.key, broken)
                self.unreadable.add(claim.key)
                if not await set_aside(self.store, self.worker, claim):
                    await self._begin(claim)
                return
            self.unreadable.discard(claim.key)
            active = self.sessions.get(claim.key)  # somebody may have been quicker
            if active is None or active.epoch != claim.epoch:
                active = fresh
                self.sessions.put(active)
        active.asked |= asked
        self.wake(active)

    def wake(self, active: ActiveSession) -> None:
        active.ring()
        self.start(active)

    def start(self, active: ActiveSession) -> None:
        """Move a session forward, unless that happens already."""
        if not active.busy and not self.halted:
            work = survived(lambda: self._advance(active), lambda error: _lost(self, active, error))
            active.task = asyncio.create_task(work)

    async def _advance(self, active: ActiveSession) -> None:
        if await self.worker.advance(active, self):
            self.sessions.rested(active)
        else:
            self.sessions.drop(active.session.key)
            if active.news:  # it came while we gave the session up
                await self.dispatch(active.session.key)
        free_slot(self, active.session.key)
        self.outgoing.set()
        if active.spoken_to:
            await _told_others(self, active)


async def _lost(engine: Gateway, active: ActiveSession, error: Exception) -> None:
    """Forget the session; a later claim reads it again, under another epoch."""
    key = active.session.key
    engine.process.children.pop(key, None)
    free_slot(engine, key)
    if engine.sessions.get(key) is active:
        engine.sessions.drop(key)
    if isinstance(error, StoreFailed):
        engine.failure = error
    if not isinstance(error, Fenced | StoreClosed):
        log.error("%s stopped: %s", key, error, exc_info=error)
        await _released(engine.store.journal, key, engine.node)


async def _beat(engine: Gateway) -> None:
    while True:
        await asyncio.sleep(engine.beat_s)
        began = asyncio.get_running_loop().time()
        if not await engine.store.nodes.beat(engine.node):
            raise Fenced(f"node {engine.node} was declared dead while it was frozen")
        engine.seen_at = began
        await engine.spending.reload()
        await engine.look_at_people()
        await let_expire(engine)


async def _rested(engine: Gateway, key: SessionKey) -> bool:
    """Return True if the session rests: by our worker, or by the journal when another process has
    it."""
    while (active := engine.sessions.get(key)) is not None:
        if active.task is None or active.task.done():
            return await _rests_with_children(engine, active.session)
        await asyncio.wait({active.task})
    session = await engine.store.journal.load(key)
    if session.questions:  # only a command or an answer moves it; messages wait for that
        commands = engine.worker.planner.rules.commands
        moved = (
            command_name(i) in commands or answers_question(session, i) for i in session.waiting
        )
        return not any(moved)
    if session.children and await _rests_with_children(engine, session):
        return True
    return not session.waiting and not isinstance(session.phase, Running | Waiting)


async def _told_others(engine: Gateway, active: ActiveSession) -> None:
    """What one session says to another is heard at once, and makes room for children that wait."""
    heard, active.spoken_to = active.spoken_to, set()
    await engine.delivery.flush({CALL}, only=active.session.key)
    queued, engine.process.queued = engine.process.queued, {}
    for key in (*heard, *queued):
        await engine.dispatch(key)


async def _rests_with_children(engine: Gateway, session: Session) -> bool:
    """A turn that waits for children goes on by itself, unless one of them asks a person and the
    others can do nothing more meanwhile."""
    if not isinstance(session.phase, Waiting) or session.questions or not session.children:
        return True
    family = [await engine.store.journal.load(child) for child in session.children]
    asks = any(child.questions for child in family)
    idle = [(child.questions and not child.waiting) or _is_idle(child) for child in family]
    deeper = [child for child in family if child.children and not child.questions]
    resting = [await _rests_with_children(engine, child) for child in deeper]
    return (asks and all(idle)) or (bool(deeper) and all(resting))


async def _moved(engine: Gateway) -> None:
    """Wait until a session of this process rests, or another process may have done something."""
    tasks = [active.task for active in engine.sessions.working() if active.task is not None]
    if tasks:
        await asyncio.wait(tasks, timeout=AGAIN_S, return_when=asyncio.FIRST_COMPLETED)
    else:
        await engine.store.nodes.wake(AGAIN_S)


def _is_idle(session: Session) -> bool:
    return isinstance(session.phase, Idle) and not session.waiting


async def dispatch_family(engine: Gateway, key: SessionKey) -> None:
    """Look after a session and those that do a part of its work: their process may be gone, and
    nobody else does where only one session is looked at."""
    await engine.dispatch(key)
    for child in (await engine.store.journal.load(key)).children:
        active = engine.sessions.get(child)
        if active is None or not active.busy:
            await dispatch_family(engine, child)
        await engine.delivery.flush({CALL}, only=child)


async def _released(journal: Journal, key: SessionKey, node: NodeId) -> None:
    try:
        await journal.release([key], node=node)
    except StoreFailed as failure:
        log.warning("%s stays ours until the store can be written to: %s", key, failure)


def free_slot(engine: Gateway, key: SessionKey) -> None:
    """A job's session rests. One that had to wait for that may go on now."""
    if not engine.process.free_slot(key):
        return
    held_up = (each for each in engine.sessions.resting() if is_held_up(each.session))
    if (active := next(held_up, None)) is not None:
        engine.wake(active)


def is_held_up(session: Session) -> bool:
    """Return True for a job whose next run, or the rest of one, waits until others have ended."""
    open_ = session.waiting and not isinstance(session.phase, Waiting)
    return bool(job_of(session.key)) and (bool(open_) or isinstance(session.phase, Running))


async def let_expire(engine: Gateway) -> None:
    """Continue sessions whose question or deferred call has expired."""
    for key in await engine.store.library.overdue(engine.process.clock(), limit=OVERDUE_MAX):
        await engine.dispatch(key)
