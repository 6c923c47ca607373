"""Move one session forward: decide, commit, start what must be waited for; again, until it rests.

A worker task lives while its session has something to do. It remembers nothing between commits
except what the journal says, so it may be cancelled, or die, at any line.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from hermes.agent.loop import Agent, goal_unjudged
from hermes.agent.prompt import PLAIN
from hermes.core.channel import CommandContext, CommandResult
from hermes.core.child_sessions import CALL, CHILD
from hermes.core.errors import HermesError, Outdated, Refused, StoreBusy, StoreFull
from hermes.core.events import Event, Span
from hermes.core.fold import fold_all
from hermes.core.ids import NodeId, SessionKey, TurnId, platform_of
from hermes.core.messages import Call, TurnOptions
from hermes.core.ports import NOWHERE, ToolContext
from hermes.core.projection import Commit, UsageRow, commit_of
from hermes.core.session import Session, Stage, Turn, ref
from hermes.core.signals import Emit, Glimpse, Recorded, Signal, Watch
from hermes.core.steps import AskPerson, Compact, JudgeGoal, Postpone, Prepare, Rest, Wait
from hermes.core.store import Claim, Fence, Journal
from hermes.gateway.plan import AsyncCommand, Launch, More, Plan, Planner, Question, record_result
from hermes.gateway.session_cache import ActiveSession, InFlight
from hermes.gateway.supervise import outcome
from hermes.gateway.trust_cache import TrustCache

if TYPE_CHECKING:
    from hermes.gateway.family_lines import FamilyLines

T = TypeVar("T")

SNAPSHOT_EVERY = 64  # a cold load folds about this many events
WRITE_TRIES = 5
WRITE_PAUSE_S = 0.5


class _Stand(Enum):
    """The state of a session after a plan."""

    GOES_ON = auto()  # something is under way, or came in meanwhile
    WRITTEN = auto()  # nothing is left to do; the store does not know that yet
    RESTS = auto()
    POSTPONED = auto()  # something is left, but not now
    NOT_HERE = auto()  # something is left, but not for this process


class Worker(Struct, frozen=True, kw_only=True):
    journal: Journal
    agent: Agent
    planner: Planner
    emit: Emit
    node: NodeId
    spend: Callable[[Sequence[UsageRow]], None]
    trust_cache: TrustCache
    clean: Callable[[Event], Event]  # without secrets, before anything is decided by it
    veil: Callable[[Watch], Watch]  # what is shown while it comes, without secrets
    fetched: frozenset[str] = frozenset()  # platforms where nothing is sent
    families: "Callable[[], FamilyLines] | None" = None  # shows what children do

    async def open(self, claim: Claim) -> ActiveSession:
        session = await self.journal.load(claim.key)
        if session.salvaged:
            await self.journal.abandon(session, fence=Fence(self.node, claim.epoch))
        active = ActiveSession(session=session, epoch=claim.epoch, snapshot_at=session.position)
        if session.view.spans == (Span(session.id),) and not session.rows:
            active.read(())  # there is nothing yet
        return active

    async def advance(self, active: ActiveSession, host: CommandContext) -> bool:
        """Work until there is nothing to do now. Return False if the session is not ours any more
        and another process may continue it. Raise Fenced when it was taken over."""
        arrived: tuple[Event, ...] = ()
        try:
            while True:
                if active.news:
                    await self._catch_up(active)
                told = map(self.clean, active.heard())
                stand = await self._step(active, (*told, *arrived), host)
                if stand is _Stand.WRITTEN and await self._rest(active):
                    stand = _Stand.RESTS
                if (
                    stand in (_Stand.RESTS, _Stand.POSTPONED)
                    and not active.news
                    and not active.told
                ):
                    return True
                if stand is _Stand.NOT_HERE and await self._declined(active):
                    return False
                arrived = await self._wait(active) if active.in_flight else ()
        finally:
            for work in active.in_flight.values():
                work.task.cancel()
            active.in_flight.clear()

    async def _step(
        self, active: ActiveSession, arrived: tuple[Event, ...], host: CommandContext
    ) -> "_Stand":
        """Make one plan, commit it and start its work."""
        plan = self._planned(active, arrived)
        rests = isinstance(plan.then, Rest) and not active.in_flight
        before = active.session.turn
        try:
            alone = await self._append(active, plan.events, rests=rests) if plan.events else True
        except Outdated:
            await self.trust_cache.reload()
            return await self._step(active, arrived, host)
        await self._cancel_stopped(active)
        if before is not None and before.id != (active.session.turn and active.session.turn.id):
            await self._stop_left_over(active, before, host)
        for launch in plan.launches:
            if isinstance(launch, AsyncCommand):
                self._run_errand(active, launch, host)
            else:
                self._launch(active, launch, host)
        if isinstance(plan.then, Question):
            await self._ask(active, plan.then)
        if isinstance(plan.then, Wait) and not active.in_flight:
            raise Refused(f"{active.session.key} waits for calls that are not running")
        if active.in_flight or not alone or isinstance(plan.then, More):
            return _Stand.GOES_ON
        if isinstance(plan.then, Postpone):
            if any(inbound.origin == "parent" for inbound in active.session.waiting):
                self.planner.process.queued[active.session.key] = None
            return _Stand.NOT_HERE if plan.then.give_up else _Stand.POSTPONED
        return _Stand.RESTS if plan.events and rests else _Stand.WRITTEN

    def _planned(self, active: ActiveSession, arrived: tuple[Event, ...]) -> Plan:
        return self.planner.plan(
            active.session,
            arrived,
            epoch=active.epoch,
            reached=any(work.reached for work in active.in_flight.values()),
            asked=active.asked,
            errands=[key for key in active.in_flight if isinstance(key, str)],
        )

    async def _wait(self, active: ActiveSession) -> tuple[Event, ...]:
        """Return the results of finished work; none when only news arrived."""
        await active.bell.wait()
        active.bell.clear()
        landed = [key for key, work in active.in_flight.items() if work.task.done()]
        events = (event for key in landed for event in active.in_flight.pop(key).task.result())
        return tuple(self.clean(event) for event in events)

    async def _catch_up(self, active: ActiveSession) -> None:
        active.news = False
        news = await self.journal.since(active.session.key, active.session.position)
        active.session = fold_all(active.session, news)

    async def _append(
        self, active: ActiveSession, events: tuple[Event, ...], *, rests: bool
    ) -> bool:
        """Commit. Return False if a message arrived before our commit, so that there is more to
        decide."""
        due = active.session.position - active.snapshot_at >= SNAPSHOT_EVERY
        before = active.session
        commit = commit_of(
            before,
            events,
            snapshot=due,
            rests=rests,
            fetched=self.fetched,
            trust_version=self.trust_cache.register.version,
        )
        self.planner.process.note_child(commit.after)  # before another one takes its place
        head = await self._written(active, commit)
        active.record(commit)
        there = (reply.address for reply in commit.replies)
        active.spoken_to |= {SessionKey(each.chat) for each in there if each.platform == CALL}
        self.spend(commit.usage)
        turn = commit.after.turn or before.turn
        recorded = Recorded(events, head)
        self.emit(Signal(before.key, turn.id if turn is not None else TurnId(""), recorded))
        if self.families is not None and platform_of(before.key) == CHILD:
            self.families().note(before, commit.after)
        if head == commit.after.position:
            active.snapshot_at = head if due else active.snapshot_at
            return True
        news = await self.journal.since(before.key, before.position)
        active.session = fold_all(before, news)
        return False

    async def _written(self, active: ActiveSession, commit: Commit) -> int:
        fence = Fence(self.node, active.epoch)
        return await _patiently(lambda: self.journal.append(commit, fence=fence))

    async def _rest(self, active: ActiveSession) -> bool:
        fence = Fence(self.node, active.epoch)
        at_rest = await self.journal.rest(active.session.key, active.session.position, fence=fence)
        active.news = active.news or not at_rest
        return at_rest

    async def _declined(self, active: ActiveSession) -> bool:
        fence = Fence(self.node, active.epoch)
        key, position = active.session.key, active.session.position
        given = await self.journal.decline(key, position, fence=fence)
        active.news = active.news or not given
        return given

    async def _ask(self, active: ActiveSession, step: Question) -> None:
        if step in active.in_flight:
            return
        if active.lines is None and not isinstance(step, Prepare | AskPerson):
            active.read(await self.journal.lines(active.session.view.spans))
        turn = None if isinstance(step, JudgeGoal) else step.turn
        self._fly(active, step, turn, self._asked(active, step))

    def _asked(
        self, active: ActiveSession, step: Question
    ) -> Coroutine[None, None, tuple[Event, ...]]:
        agent, session, turn = self.agent, active.session, active.session.turn
        watch = self._watch(active, step)
        if isinstance(step, Compact):
            lines = tuple(active.lines or ())
            return outcome(
                lambda: agent.compact(step, session, lines, watch),
                lambda error: agent.kept(step, session, error),
            )
        if isinstance(step, JudgeGoal):
            read = tuple(active.lines or ())
            clock = self.planner.process.clock
            return outcome(
                lambda: agent.judge(session, read), lambda error: goal_unjudged(error, clock())
            )
        assert turn is not None, "a model or a person is asked for an open turn only"
        if isinstance(step, Prepare):
            return self._prepared(session, turn)
        if isinstance(step, AskPerson):
            return outcome(
                lambda: agent.asker.ask(session, turn, step),
                lambda error: agent.asker.broke(turn, step, error),
            )
        request = active.request()
        return outcome(
            lambda: agent.ask(session, turn, request, watch),
            lambda error: agent.gave_up(session, turn, error),
        )

    async def _prepared(self, session: Session, turn: Turn) -> tuple[Event, ...]:
        """A prompt that nobody can make is the plainest; one that cannot be written down ends this
        run, as a step does."""
        prompt = await outcome(lambda: self.agent.composed(session), lambda _error: PLAIN)
        tools = await outcome(
            lambda: self.agent.offer.tools_for(session, turn), lambda _error: None
        )
        return (await _patiently(lambda: self.agent.keep(prompt, tools)),)

    async def _stop_left_over(
        self, active: ActiveSession, turn: Turn, host: CommandContext
    ) -> None:
        """Stop a command that an earlier process started for a turn that has ended."""
        if turn.options.scripted:
            await self.agent.leave(turn.options)
        for call_state in turn.call_states:
            lost = call_state.stage is Stage.STARTED and call_state.epoch != active.epoch
            if lost or call_state.stage is Stage.DEFERRED:
                await self.agent.stop(self._context(active, turn.id, call_state.call, host))

    def _context(
        self, active: ActiveSession, turn: TurnId, call: Call, host: CommandContext
    ) -> ToolContext:
        return ToolContext(
            session=active.session.key,
            turn=turn,
            call=call,
            facts=active.session.remembered,
            labels=self.agent.permit.read(active.session),
            watch=self._watch(active, call.id),
            host=host,
            address=active.session.turn.address if active.session.turn else NOWHERE,
            approved=_approved(active.session, call),
            by_folder=self.agent.permit.is_by_folder(active.session, call),
            refused=self.agent.permit.refusal(active.session, call.tool),
            principal=self.agent.permit.principal(active.session),
            scope=self.agent.permit.scope_of(active.session),
            options=active.session.turn.options if active.session.turn else TurnOptions(),
            tokens=active.session.turn.tokens if active.session.turn else 0,
            conversation=active.session.id,
        )

    def _launch(self, active: ActiveSession, launch: Launch, host: CommandContext) -> None:
        call, context = launch.call, self._context(active, launch.turn, launch.call, host)
        make = self.agent.recover if launch.recover else self.agent.run
        ended = outcome(lambda: make(context), lambda error: self.agent.broke(context, error))
        self._fly(active, call.id, launch.turn, ended, context)

    def _run_errand(
        self, active: ActiveSession, command: AsyncCommand, host: CommandContext
    ) -> None:
        """Look up what a command needs. What goes wrong there is said to whoever gave it."""
        call, run_async = command.call, command.command.run_async
        assert run_async is not None, "a command has a way to be run"

        async def run() -> tuple[Event, ...]:
            try:
                return record_result(call, await run_async(call, host))
            except HermesError as error:
                return record_result(call, CommandResult(replies=(call.reply(str(error)),)))

        def broken(error: Exception) -> tuple[Event, ...]:
            text = f"{command.command.name} failed: {type(error).__name__}: {error}"
            return record_result(call, CommandResult(replies=(call.reply(text),)))

        self._fly(active, ref(call.inbound), None, outcome(run, broken))

    def _fly(
        self,
        active: ActiveSession,
        key: object,
        turn: TurnId | None,
        work: Coroutine[None, None, tuple[Event, ...]],
        context: ToolContext | None = None,
    ) -> None:
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: active.bell.set())
        active.in_flight[key] = InFlight(turn, task, context)

    def _watch(self, active: ActiveSession, key: object) -> Watch:
        session, turn = active.session.key, active.session.turn
        id_ = turn.id if turn is not None else TurnId("")

        def watch(glimpse: Glimpse) -> None:
            if key in active.in_flight:
                active.in_flight[key].reached = True
            self.emit(Signal(session, id_, glimpse))

        return self.veil(watch)

    async def _cancel_stopped(self, active: ActiveSession) -> None:
        """Cancel everything in flight of a stopped turn, detached commands included."""
        open_ = active.session.turn.id if active.session.turn else None
        stale = [key for key, work in active.in_flight.items() if work.turn not in (open_, None)]
        stale += [
            key for key in active.in_flight if isinstance(key, Compact) and _is_over(key, active)
        ]
        for key in dict.fromkeys(stale):
            work = active.in_flight.pop(key)
            work.task.cancel()
            if work.context is not None:
                await self.agent.stop(work.context)


async def _patiently(write: Callable[[], Awaitable[T]]) -> T:
    """Wait a while for a full or locked disk; nothing continues in memory meanwhile."""
    for _ in range(WRITE_TRIES - 1):
        try:
            return await write()
        except (StoreBusy, StoreFull):
            await asyncio.sleep(WRITE_PAUSE_S)
    return await write()


def _approved(session: Session, call: Call) -> str:
    """Return the digest of what a person approved, if one was asked about this call."""
    call_states = session.turn.call_states if session.turn is not None else ()
    return next((t.digest for t in call_states if t.call.id == call.id and t.approved), "")


def _is_over(compact: Compact, active: ActiveSession) -> bool:
    """Return True if the work is not wanted any more, or another conversation is current."""
    session = active.session
    dropped = compact.turn is None and session.compaction.wanted is None
    return dropped or compact.of != session.viewed_at
