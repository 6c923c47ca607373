"""Move one session forward: decide, commit, begin what must be waited for; again, until it rests.

A worker task lives while its session has something to do. Nothing is remembered between commits
except what the journal says, so it may be cancelled, or die, at any line.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import Enum, auto
from typing import TypeVar

from msgspec import Struct

from hermes.agent.loop import Agent
from hermes.agent.prompt import PLAIN
from hermes.core.channel import Desk, Obeyed
from hermes.core.errors import HermesError, Outdated, Refused, StoreBusy, StoreFull
from hermes.core.events import Event, Span
from hermes.core.fold import fold_all
from hermes.core.ids import NodeId, TurnId
from hermes.core.messages import Call
from hermes.core.ports import Bench
from hermes.core.projection import Commit, UsageRow, commit_of
from hermes.core.session import Session, Stage, Turn, ref
from hermes.core.signals import Emit, Glimpse, Recorded, Signal, Watch
from hermes.core.step import AskPerson, Compact, Postpone, Prepare, Rest, Wait
from hermes.core.store import Claim, Fence, Journal
from hermes.gateway.lanes import Flight, Lane
from hermes.gateway.plan import Errand, Launch, More, Plan, Planner, Question, obeyed
from hermes.gateway.standing import Standing
from hermes.gateway.supervise import outcome

T = TypeVar("T")

SNAPSHOT_EVERY = 64  # a cold load folds about this many events
WRITE_TRIES = 5
WRITE_PAUSE_S = 0.5


class _Stand(Enum):
    """Where a session stands after a plan."""

    GOES_ON = auto()  # something is under way, or came in meanwhile
    WRITTEN = auto()  # nothing is left to do; the store does not know that yet
    RESTS = auto()
    POSTPONED = auto()  # something is left, but not now


class Worker(Struct, frozen=True, kw_only=True):
    journal: Journal
    agent: Agent
    planner: Planner
    emit: Emit
    node: NodeId
    spend: Callable[[Sequence[UsageRow]], None]
    standing: Standing
    clean: Callable[[Event], Event]  # without secrets, before anything is decided by it
    veil: Callable[[Watch], Watch]  # what is shown while it comes, without secrets
    fetched: frozenset[str] = frozenset()  # platforms where nothing is sent

    async def open(self, claim: Claim) -> Lane:
        session = await self.journal.load(claim.key)
        lane = Lane(session=session, epoch=claim.epoch, snapshot_at=session.position)
        if session.view.spans == (Span(session.id),) and not session.rows:
            lane.read(())  # there is nothing yet
        return lane

    async def advance(self, lane: Lane, desk: Desk) -> None:
        """Until there is nothing to do now. Raises Fenced when the session was taken over."""
        arrived: tuple[Event, ...] = ()
        try:
            while True:
                if lane.news:
                    await self._catch_up(lane)
                stand = await self._step(lane, (*lane.heard(), *arrived), desk)
                if stand is _Stand.WRITTEN and await self._rest(lane):
                    stand = _Stand.RESTS
                if stand in (_Stand.RESTS, _Stand.POSTPONED) and not lane.news and not lane.told:
                    return
                arrived = await self._wait(lane) if lane.flights else ()
        finally:
            for flight in lane.flights.values():
                flight.task.cancel()
            lane.flights.clear()

    async def _step(self, lane: Lane, arrived: tuple[Event, ...], desk: Desk) -> "_Stand":
        """One plan, made durable and begun."""
        plan = self._planned(lane, arrived)
        rests = isinstance(plan.then, Rest) and not lane.flights
        before = lane.session.turn
        try:
            alone = await self._append(lane, plan.events, rests=rests) if plan.events else True
        except Outdated:
            await self.standing.look()
            return await self._step(lane, arrived, desk)
        await self._cancel_stopped(lane)
        if before is not None and before.id != (lane.session.turn and lane.session.turn.id):
            await self._stop_left_over(lane, before, desk)
        for launch in plan.launches:
            if isinstance(launch, Errand):
                self._run_errand(lane, launch, desk)
            else:
                self._launch(lane, launch, desk)
        if isinstance(plan.then, Question):
            await self._ask(lane, plan.then)
        if isinstance(plan.then, Wait) and not lane.flights:
            raise Refused(f"{lane.session.key} waits for calls that nobody makes")
        if lane.flights or not alone or isinstance(plan.then, More):
            return _Stand.GOES_ON
        if isinstance(plan.then, Postpone):
            return _Stand.POSTPONED
        return _Stand.RESTS if plan.events and rests else _Stand.WRITTEN

    def _planned(self, lane: Lane, arrived: tuple[Event, ...]) -> Plan:
        return self.planner.plan(
            lane.session,
            arrived,
            epoch=lane.epoch,
            reached=any(flight.reached for flight in lane.flights.values()),
            errands=[key for key in lane.flights if isinstance(key, str)],
        )

    async def _wait(self, lane: Lane) -> tuple[Event, ...]:
        """Results of what has landed; none when only news came."""
        await lane.bell.wait()
        lane.bell.clear()
        landed = [key for key, flight in lane.flights.items() if flight.task.done()]
        events = (event for key in landed for event in lane.flights.pop(key).task.result())
        return tuple(self.clean(event) for event in events)

    async def _catch_up(self, lane: Lane) -> None:
        lane.news = False
        news = await self.journal.since(lane.session.key, lane.session.position)
        lane.session = fold_all(lane.session, news)

    async def _append(self, lane: Lane, events: tuple[Event, ...], *, rests: bool) -> bool:
        """False when a message slipped in before our commit: then what was decided is not all."""
        due = lane.session.position - lane.snapshot_at >= SNAPSHOT_EVERY
        before = lane.session
        commit = commit_of(
            before,
            events,
            snapshot=due,
            rests=rests,
            fetched=self.fetched,
            standing=self.standing.register.version,
        )
        head = await self._written(lane, commit)
        lane.record(commit)
        self.spend(commit.usage)
        turn = commit.after.turn or before.turn
        recorded = Recorded(events, head)
        self.emit(Signal(before.key, turn.id if turn is not None else TurnId(""), recorded))
        if head == commit.after.position:
            lane.snapshot_at = head if due else lane.snapshot_at
            return True
        news = await self.journal.since(before.key, before.position)
        lane.session = fold_all(before, news)
        return False

    async def _written(self, lane: Lane, commit: Commit) -> int:
        fence = Fence(self.node, lane.epoch)
        return await _patiently(lambda: self.journal.append(commit, fence=fence))

    async def _rest(self, lane: Lane) -> bool:
        fence = Fence(self.node, lane.epoch)
        at_rest = await self.journal.rest(lane.session.key, lane.session.position, fence=fence)
        lane.news = lane.news or not at_rest
        return at_rest

    async def _ask(self, lane: Lane, step: Question) -> None:
        if step in lane.flights:
            return
        if lane.lines is None and not isinstance(step, Prepare | AskPerson):
            lane.read(await self.journal.lines(lane.session.view.spans))
        self._fly(lane, step, step.turn, self._asked(lane, step))

    def _asked(self, lane: Lane, step: Question) -> Coroutine[None, None, tuple[Event, ...]]:
        agent, session, turn = self.agent, lane.session, lane.session.turn
        watch = self._watch(lane, step)
        if isinstance(step, Compact):
            lines = tuple(lane.lines or ())
            return outcome(
                lambda: agent.compact(step, session, lines, watch),
                lambda error: agent.kept(step, session, error),
            )
        if isinstance(step, Prepare):
            return self._prepared(session)
        assert turn is not None, "a model or a person is asked for an open turn only"
        if isinstance(step, AskPerson):
            return outcome(
                lambda: agent.asker.ask(session, turn, step),
                lambda error: agent.asker.broke(turn, step, error),
            )
        request = lane.request()
        return outcome(
            lambda: agent.ask(session, turn, request, watch),
            lambda error: agent.gave_up(session, turn, error),
        )

    async def _prepared(self, session: Session) -> tuple[Event, ...]:
        """A prompt that nobody can make is the plainest; one that cannot be written down ends this
        run, as a step does."""
        prompt = await outcome(lambda: self.agent.composed(session), lambda _error: PLAIN)
        return (await _patiently(lambda: self.agent.keep(prompt)),)

    async def _stop_left_over(self, lane: Lane, turn: Turn, desk: Desk) -> None:
        """The turn is over, but a command that a process before us began for it may still run."""
        for track in turn.tracks:
            if track.stage is Stage.STARTED and track.epoch != lane.epoch:
                await self.agent.stop(self._bench(lane, turn.id, track.call, desk))

    def _bench(self, lane: Lane, turn: TurnId, call: Call, desk: Desk) -> Bench:
        return Bench(
            session=lane.session.key,
            turn=turn,
            call=call,
            facts=lane.session.facts,
            labels=frozenset(lane.session.view.labels),
            watch=self._watch(lane, call.id),
            desk=desk,
            approved=_approved(lane.session, call),
        )

    def _launch(self, lane: Lane, launch: Launch, desk: Desk) -> None:
        call, bench = launch.call, self._bench(lane, launch.turn, launch.call, desk)
        make = self.agent.seek if launch.seek else self.agent.run
        ended = outcome(lambda: make(bench), lambda error: self.agent.broke(bench, error))
        self._fly(lane, call.id, launch.turn, ended, bench)

    def _run_errand(self, lane: Lane, errand: Errand, desk: Desk) -> None:
        """Look up what a command needs. What goes wrong there is said to whoever gave it."""
        order, look = errand.order, errand.command.look
        assert look is not None, "a command has a way to be run"

        async def run() -> tuple[Event, ...]:
            try:
                return obeyed(order, await look(order, desk))
            except HermesError as error:
                return obeyed(order, Obeyed(replies=(order.reply(str(error)),)))

        def broken(error: Exception) -> tuple[Event, ...]:
            text = f"{errand.command.name} failed: {type(error).__name__}: {error}"
            return obeyed(order, Obeyed(replies=(order.reply(text),)))

        self._fly(lane, ref(order.inbound), None, outcome(run, broken))

    def _fly(
        self,
        lane: Lane,
        key: object,
        turn: TurnId | None,
        work: Coroutine[None, None, tuple[Event, ...]],
        bench: Bench | None = None,
    ) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: lane.bell.set())
        lane.flights[key] = Flight(turn, task, bench)

    def _watch(self, lane: Lane, key: object) -> Watch:
        session, turn = lane.session.key, lane.session.turn
        id_ = turn.id if turn is not None else TurnId("")

        def watch(glimpse: Glimpse) -> None:
            if key in lane.flights:
                lane.flights[key].reached = True
            self.emit(Signal(session, id_, glimpse))

        return self.veil(watch)

    async def _cancel_stopped(self, lane: Lane) -> None:
        """A turn that was stopped has nothing in flight any more, detached commands included."""
        open_ = lane.session.turn.id if lane.session.turn else None
        stale = [key for key, flight in lane.flights.items() if flight.turn not in (open_, None)]
        stale += [key for key in lane.flights if isinstance(key, Compact) and _is_over(key, lane)]
        for key in dict.fromkeys(stale):
            flight = lane.flights.pop(key)
            flight.task.cancel()
            if flight.bench is not None:
                await self.agent.stop(flight.bench)


async def _patiently(write: Callable[[], Awaitable[T]]) -> T:
    """A full or locked disk is waited for a little; nothing goes on in memory meanwhile."""
    for _ in range(WRITE_TRIES - 1):
        try:
            return await write()
        except (StoreBusy, StoreFull):
            await asyncio.sleep(WRITE_PAUSE_S)
    return await write()


def _approved(session: Session, call: Call) -> str:
    """The digest of what a person said yes to, when one was asked about this call."""
    tracks = session.turn.tracks if session.turn is not None else ()
    return next((t.digest for t in tracks if t.call.id == call.id and t.approved), "")


def _is_over(compact: Compact, lane: Lane) -> bool:
    """Nobody wants this any more, or another conversation is read by now."""
    session = lane.session
    dropped = compact.turn is None and session.compaction.wanted is None
    return dropped or compact.of != session.viewed_at
