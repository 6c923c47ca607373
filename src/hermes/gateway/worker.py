"""Move one session forward: decide, commit, begin what must be waited for; again, until it rests.

A worker task lives while its session has something to do. Nothing is remembered between commits
except what the journal says, so it may be cancelled, or die, at any line.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass

from hermes.agent.loop import Agent
from hermes.core.errors import Refused, StoreBusy, StoreFull
from hermes.core.events import Event
from hermes.core.ids import NodeId, TurnId
from hermes.core.ports import Bench
from hermes.core.projection import Commit, commit_of
from hermes.core.session import fold_all
from hermes.core.signals import Emit, Glimpse, Signal, Watch
from hermes.core.step import AskModel, Wait
from hermes.core.store import Claim, Fence, Journal
from hermes.gateway.lanes import Flight, Lane
from hermes.gateway.plan import Launch, Planner
from hermes.gateway.supervise import outcome

SNAPSHOT_EVERY = 64  # a cold load folds about this many events
WRITE_TRIES = 5
WRITE_PAUSE_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Worker:
    journal: Journal
    agent: Agent
    planner: Planner
    emit: Emit
    node: NodeId

    async def open(self, claim: Claim) -> Lane:
        session = await self.journal.load(claim.key)
        return Lane(session=session, epoch=claim.epoch, snapshot_at=session.position)

    async def advance(self, lane: Lane) -> None:
        """Until there is nothing to do. Raises Fenced when the session was taken over."""
        arrived: tuple[Event, ...] = ()
        try:
            while True:
                if lane.news:
                    await self._catch_up(lane)
                resting = await self._step(lane, arrived)
                if resting and await self._rest(lane) and not lane.news:
                    return
                arrived = await self._wait(lane) if lane.flights else ()
        finally:
            for flight in lane.flights.values():
                flight.task.cancel()
            lane.flights.clear()

    async def _step(self, lane: Lane, arrived: tuple[Event, ...]) -> bool:
        """One plan, made durable and begun. True when nothing is left to do or to wait for."""
        reached = any(flight.reached for flight in lane.flights.values())
        plan = self.planner.plan(lane.session, arrived, epoch=lane.epoch, reached=reached)
        alone = await self._append(lane, plan.events) if plan.events else True
        await self._cancel_stopped(lane)
        for launch in plan.launches:
            self._launch(lane, launch)
        if isinstance(plan.then, AskModel) and plan.then not in lane.flights:
            await self._ask(lane, plan.then)
        if isinstance(plan.then, Wait) and not lane.flights:
            raise Refused(f"{lane.session.key} waits for calls that nobody makes")
        return alone and not lane.flights

    async def _wait(self, lane: Lane) -> tuple[Event, ...]:
        """Results of what has landed; none when only news came."""
        await lane.bell.wait()
        lane.bell.clear()
        landed = [key for key, flight in lane.flights.items() if flight.task.done()]
        return tuple(event for key in landed for event in lane.flights.pop(key).task.result())

    async def _catch_up(self, lane: Lane) -> None:
        lane.news = False
        news = await self.journal.since(lane.session.key, lane.session.position)
        lane.session = fold_all(lane.session, news)

    async def _append(self, lane: Lane, events: tuple[Event, ...]) -> bool:
        """False when a message slipped in before our commit: then what was decided is not all."""
        due = lane.session.position - lane.snapshot_at >= SNAPSHOT_EVERY
        commit = commit_of(lane.session, events, snapshot=due)
        before = lane.session
        head = await self._written(lane, commit)
        lane.record(commit)
        if head == commit.after.position:
            lane.snapshot_at = head if due else lane.snapshot_at
            return True
        news = await self.journal.since(before.key, before.position)
        lane.session = fold_all(before, news)
        return False

    async def _written(self, lane: Lane, commit: Commit) -> int:
        """A full or locked disk is waited for a little; nothing goes on in memory meanwhile."""
        fence = Fence(self.node, lane.epoch)
        for _ in range(WRITE_TRIES - 1):
            try:
                return await self.journal.append(commit, fence=fence)
            except (StoreBusy, StoreFull):
                await asyncio.sleep(WRITE_PAUSE_S)
        return await self.journal.append(commit, fence=fence)

    async def _rest(self, lane: Lane) -> bool:
        fence = Fence(self.node, lane.epoch)
        at_rest = await self.journal.rest(lane.session.key, lane.session.position, fence=fence)
        lane.news = lane.news or not at_rest
        return at_rest

    async def _ask(self, lane: Lane, step: AskModel) -> None:
        turn = lane.session.turn
        assert turn is not None, "a model is asked for an open turn only"
        if lane.lines is None:
            lane.read(await self.journal.lines(lane.session.view.spans))
        session, lines = lane.session, tuple(lane.lines or ())
        watch = self._watch(lane, step)
        work = outcome(
            lambda: self.agent.ask(session, turn, lines, watch),
            lambda error: self.agent.gave_up(session, turn, error),
        )
        self._fly(lane, step, turn.id, work)

    def _launch(self, lane: Lane, launch: Launch) -> None:
        call = launch.call
        bench = Bench(
            session=lane.session.key,
            turn=launch.turn,
            call=call,
            facts=lane.session.facts,
            watch=self._watch(lane, call.id),
        )
        make = self.agent.seek if launch.seek else self.agent.run
        ended = outcome(lambda: make(bench), lambda error: self.agent.broke(bench, error))
        self._fly(lane, call.id, launch.turn, ended, bench)

    def _fly(
        self,
        lane: Lane,
        key: object,
        turn: TurnId,
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

        return watch

    async def _cancel_stopped(self, lane: Lane) -> None:
        """A turn that was stopped has nothing in flight any more, detached commands included."""
        open_ = lane.session.turn.id if lane.session.turn else None
        for key in [key for key, flight in lane.flights.items() if flight.turn != open_]:
            flight = lane.flights.pop(key)
            flight.task.cancel()
            if flight.bench is not None:
                await self.agent.stop(flight.bench)
