"""Turn decisions into events, as far as nothing has to be waited for.

Pure: what a worker commits next is a value. Steps that only record something are taken together, so
that the end of a turn, its replies and the cleared mark are one commit.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import steps as s
from hermes.core.channel import Command, CommandCall, CommandResult
from hermes.core.child_sessions import CALL, PartResult, last_words
from hermes.core.directory import MIRRORED, UNREAD
from hermes.core.draft import in_place_of_draft
from hermes.core.errors import Refused
from hermes.core.fold import fold
from hermes.core.ids import CallId, ReplyId, SessionId, TurnId
from hermes.core.jobs import job_of
from hermes.core.messages import Call, Effect, Inbound, Outcome, Reply, ReplyKind
from hermes.core.people import Role, Sender, sender_of
from hermes.core.repeats import with_remark
from hermes.core.rules import Rules
from hermes.core.session import Session, Turn, call_id, chosen, ref, speakers
from hermes.core.step import next_step
from hermes.core.transcript import LOST
from hermes.gateway.process_state import ProcessState
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from hermes.core import job_runs
else:
    job_runs = LazyModule("hermes.core.job_runs")
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from hermes.gateway import goals
else:
    goals = LazyModule("hermes.gateway.goals")

EVENTS_MAX = 200  # in one commit
PARKED = "I stopped working on your last request:"
RETRY = " Send /retry to try once more, or just write: a new conversation begins."
GIVEN_UP = "The work on this task has stopped:"
BEGIN_ANEW = " What it did so far is kept. Delegate the task again, or do it yourself."
QUEUED = "I will answer this after the message before it. /stop stops that one."
AFTER_RESTART = "I am restarting. Your message is saved, and I will answer it when I am back."
NOT_YOURS = "Only my owner can use {}."
TOO_LATE = "No result came in time. Go on without it, or try something else."
EMPTY = "(They sent an empty message.)"
GIVEN = "hermes:given"  # in the place of a model: the calls came with the message
EXPIRED = (
    "No answer came in time, so this was not allowed and nothing was run. Continue without it, or "
    "say what you would need."
)
NO_ANSWER = (
    "no answer: the person has not answered in time, and the question is closed. Continue without "
    "it: take the most likely and safest reading, and say what you assumed."
)
NEW_RUN = "a new run of the job"
REOPENED = "This is a new conversation. The previous one is saved (/resume opens it):"


class Launch(Struct, frozen=True, kw_only=True):
    """Work to start once the plan is durable."""

    turn: TurnId
    call: Call
    recover: bool = False


class AsyncCommand(Struct, frozen=True, kw_only=True):
    """A command that reads something first, with the session as it is then."""

    command: Command
    call: CommandCall


Why = Literal["interrupted", "revoked", "parent"]
_CAUSES: Mapping[type, Why] = {
    s.Interrupt: "interrupted",
    s.Expel: "revoked",
    s.StopTurn: "parent",
}


class More(Struct, frozen=True):
    """More is to be decided than fits into one commit."""


# What a worker asks the agent, one at a time.
Question = s.Prepare | s.Compact | s.AskModel | s.AskPerson | s.JudgeGoal


class Plan(Struct, frozen=True, kw_only=True):
    events: tuple[e.Event, ...]
    launches: tuple[Launch | AsyncCommand, ...]
    then: s.Rest | s.Postpone | s.Wait | Question | More


class Planner(Struct, frozen=True, kw_only=True):
    rules: Rules
    commands: Mapping[str, Command]
    process: ProcessState
    new_id: Callable[[], str]

    def plan(
        self,
        session: Session,
        arrived: Sequence[e.Event],
        *,
        epoch: int,
        reached: bool,
        asked: bool = False,
        errands: Collection[str] = (),
    ) -> Plan:
        """Take in what arrived, then decide until something has to be waited for.

        A result for a turn that was stopped meanwhile does not fit any more and is dropped.
        `errands` names the messages whose commands are being looked up already.
        """
        events: list[e.Event] = []
        launches: list[Launch | AsyncCommand] = []
        for came in arrived:
            event = with_remark(session, _of_run(session, came))
            try:
                session = fold(session, event)
            except Refused:
                continue
            events.append(event)
        while len(events) < EVENTS_MAX:
            context = self.process.make_context(epoch, asked=asked, key=session.key)
            step = next_step(session, self.rules, context)
            if _run_of(session) is not None or isinstance(step, s.StartTurn):
                self.process.take_slot(session.key)
            if isinstance(step, s.Rest | s.Postpone | s.Wait | Question):
                return Plan(events=tuple(events), launches=tuple(launches), then=step)
            if isinstance(step, s.RunCommand) and not self._may(step):
                events.append(_refused(session, step, self.process.clock()))
                session = fold(session, events[-1])
                continue
            if isinstance(step, s.RunCommand) and self.commands[step.name].run is None:
                if ref(step.inbound) not in errands:
                    call = self._command_call(session, step, epoch=epoch, reached=reached)
                    launches.append(AsyncCommand(command=self.commands[step.name], call=call))
                return Plan(events=tuple(events), launches=tuple(launches), then=s.Wait())
            for made in self._events(session, step, epoch=epoch, reached=reached):
                event = with_remark(session, made)
                session = fold(session, event)
                events.append(event)
            launches += _launches(step)
        return Plan(events=tuple(events), launches=tuple(launches), then=More())

    def _events(
        self, session: Session, step: s.Step, *, epoch: int, reached: bool
    ) -> tuple[e.Event, ...]:
        if isinstance(step, s.ContinueGoal | s.PauseGoal | s.EndGoal):
            return goals.goal_events(session, step, self.process.clock(), self.rules.cost)
        return self._recorded(session, step, epoch=epoch, reached=reached)

    def _recorded(
        self, session: Session, step: s.Step, *, epoch: int, reached: bool
    ) -> tuple[e.Event, ...]:
        at = self.process.clock()
        match step:
            case s.RunCommand():
                return self._obeyed(session, step, epoch=epoch, reached=reached)
            case s.Relay(inbound=inbound):
                return (_relayed(session, inbound, at),)
            case s.TellQueued(inbound=inbound, draining=draining):
                text = AFTER_RESTART if draining else QUEUED
                notice = _to(session, inbound, ReplyId(f"{ref(inbound)}/queued"), text)
                waiting = tuple(ref(each) for each in session.waiting)
                return (e.PersonTold(at, (notice,), waiting),)
            case s.Drop(inbound=inbound):
                return (e.MessageDropped(ref(inbound), at),)
            case s.Reopen(why=why):
                return (self._reopened(session, why),)
            case s.StartTurn(messages=messages):
                return self._begun(session, messages, epoch)
            case s.Interrupt(turn=turn) | s.Expel(turn=turn) | s.StopTurn(turn=turn):
                return (e.TurnInterrupted(turn, _CAUSES[type(step)], at, reached),)
            case s.Steer(turn=turn, inbound=inbound):
                return (e.TurnSteered(turn, ref(inbound), inbound.text, at),)
            case s.MarkTurn(turn=turn):
                return (e.TurnMarked(turn, "restart_interrupted", at),)
            case s.ResumeTurn(turn=turn, messages=messages):
                return (e.TurnResumed(turn, epoch, at, messages, self.process.node),)
            case s.Suspend(why=why):
                called = session.turn is not None and session.turn.address.platform == CALL
                text = f"{GIVEN_UP} {why}.{BEGIN_ANEW}" if called else f"{PARKED} {why}.{RETRY}"
                return (e.SessionSuspended(why, at, _notice(session, text)),)
            case _:
                return self._in_turn(session, step, epoch)

    def _begun(
        self, session: Session, messages: tuple[str, ...], epoch: int
    ) -> tuple[e.Event, ...]:
        """Begin a turn. Each run of a job has a conversation of its own."""
        at, turn = self.process.clock(), TurnId(self.new_id())
        started = e.TurnStarted(turn, messages, epoch, at, self.process.node)
        if job_of(session.key) and session.rows:
            return (e.SessionReset(SessionId(self.new_id()), NEW_RUN, at), started)
        return (started,)

    def _in_turn(self, session: Session, step: s.Step, epoch: int) -> tuple[e.Event, ...]:
        at = self.process.clock()
        match step:
            case s.LetExpire():
                return (_expired(session, step, epoch, at),)
            case s.TakeAnswer(turn=turn, call=name, inbound=inbound):
                answered = e.QuestionAnswered(turn, name, True, epoch, at)
                return (_answer(session, name, inbound, answered),)
            case s.TakeResult(turn=turn, call=call, inbounds=inbounds):
                return (self._result(turn, call, inbounds, epoch),)
            case s.GiveCalls(turn=turn, calls=calls) if session.turn is not None:
                ids = (call_id(session.turn, n) for n in range(1, len(calls) + 1))
                given = tuple(replace(c, id=id_) for c, id_ in zip(calls, ids, strict=True))
                return (e.ModelAnswered(turn, at, calls=given, model=GIVEN),)
            case s.RefuseCall(turn=turn, call=call, why=why, denied=denied):
                outcome = Outcome.DENIED if denied else Outcome.FAILED
                return (e.CallEnded(turn, call.id, outcome, why, at, epoch=epoch),)
            case s.RunCalls(turn=turn, calls=calls):
                effect, box = self.rules.effect, self.rules.box
                children = self.rules.children
                return tuple(
                    e.CallStarted(turn, c.id, effect(c), epoch, at, box(c), children(c))
                    for c in calls
                )
            case s.RecoverCall(turn=turn, call=call):
                box_of = self.rules.box
                return (e.CallStarted(turn, call.id, Effect.EFFECT, epoch, at, box_of(call)),)
            case s.SettleCall(turn=turn, call=call):
                return (e.CallEnded(turn, call.id, Outcome.UNKNOWN, LOST, at),)
            case s.Finish():
                return (_finished(session, step, at),)
            case _:
                raise Refused(f"{type(step).__name__} is not recorded but performed")

    def _result(
        self, turn: TurnId, call: Call, inbounds: tuple[Inbound, ...], epoch: int
    ) -> e.CallEnded:
        parts = tuple(PartResult(text=i.text, settled=i.settles) for i in inbounds if i.settles)
        done = [p.settled.outcome for p in parts if p.settled.outcome is Outcome.OK]
        reports = [part.settled.report for part in parts if part.settled.report is not None]
        messages = tuple(map(ref, inbounds))
        return e.CallEnded(
            turn,
            call.id,
            Outcome.OK if done else parts[0].settled.outcome,
            self.rules.composed(call, parts),
            self.process.clock(),
            labels=tuple(dict.fromkeys(label for i in inbounds for label in i.labels)),
            spent=tuple(spent for i in inbounds for spent in i.spent),
            message=messages[0],
            epoch=epoch,
            more=messages[1:],
            tokens=sum(report.usage.input + report.usage.output for report in reports),
        )

    def _obeyed(
        self, session: Session, step: s.RunCommand, *, epoch: int, reached: bool
    ) -> tuple[e.Event, ...]:
        call = self._command_call(session, step, epoch=epoch, reached=reached)
        run = self.commands[step.name].run
        assert run is not None, "a command that looks something up is an errand"
        return record_result(call, run(call))

    def _command_call(
        self, session: Session, step: s.RunCommand, *, epoch: int, reached: bool
    ) -> CommandCall:
        said = speakers(session, session.turn) if session.turn is not None else ()
        return CommandCall(
            session=session,
            inbound=step.inbound,
            argument="".join(step.inbound.text.split(None, 1)[1:]).strip(),
            at=self.process.clock(),
            epoch=epoch,
            reached=reached,
            new_session=lambda: SessionId(self.new_id()),
            role=self._role(sender_of(step.inbound)),
            role_of_turn=max(map(self._role, said)) if said else Role.OWNER,
        )

    def _role(self, sender: Sender) -> Role:
        return self.rules.role(sender, self.process.register())

    def _may(self, step: s.RunCommand) -> bool:
        return self._role(sender_of(step.inbound)) <= self.commands[step.name].least

    def _reopened(self, session: Session, why: str) -> e.SessionReset:
        id_ = ReplyId(f"{session.id}/{session.position}")
        notice = _to(session, session.waiting[0], id_, f"{REOPENED} {why}.")
        opens, at = SessionId(self.new_id()), self.process.clock()
        return e.SessionReset(opens, why, at, replies=(notice,))


def _run_of(session: Session) -> Turn | None:
    """Return the open turn if it is a job's run."""
    turn = session.turn
    return turn if turn is not None and turn.options.run is not None else None


def _of_run(session: Session, event: e.Event) -> e.Event:
    """A job's run that fails says so where the job says such things."""
    run = _run_of(session) if isinstance(event, e.TurnEnded) else None
    if run is None or not isinstance(event, e.TurnEnded) or event.outcome != "failed":
        return event
    return job_runs.run_ended(session, run, event.why or "it failed", event.at, failed=True)


def record_result(call: CommandCall, result: CommandResult) -> tuple[e.Event, ...]:
    """Return the events of a command's result, with the fact that it was run."""
    done = e.CommandRun(ref(call.inbound), call.at, result.replies)
    return (*result.events, done)


def _expired(
    session: Session, step: s.LetExpire, epoch: int, at: float
) -> e.QuestionAnswered | e.CallEnded:
    """End a question or a deferred call whose time is over."""
    for asked in session.questions:
        if asked.call.id == step.call:
            text = NO_ANSWER if asked.wants_text else EXPIRED
            return e.QuestionAnswered(step.turn, step.call, False, epoch, at, text)
    return e.CallEnded(step.turn, step.call, Outcome.FAILED, TOO_LATE, at, epoch=epoch)


def _finished(session: Session, step: s.Finish, at: float) -> e.TurnEnded:
    """End the turn with its answer, or with what a limit says; a job's run ends in its own way."""
    if (run := _run_of(session)) is not None:
        return job_runs.run_ended(session, run, step.text, at, failed=step.failed)
    done = session.turn is not None and session.turn.answer is not None
    outcome = session.turn.outcome if session.turn is not None and done else Outcome.FAILED
    answer = _reply(session, ReplyId(f"{step.turn}/0"), step.text, "answer", outcome)
    answer = replace(answer, labels=session.view.labels)
    return e.TurnEnded(step.turn, "answered", at, (answer,))


def _answer(
    session: Session, call: CallId, inbound: Inbound, event: e.QuestionAnswered
) -> e.QuestionAnswered:
    """A person's message in the place of a result. A number stands for its choice."""
    asked = next(asked for asked in session.questions if asked.call.id == call)
    files = ", ".join(media.name or media.media_type for media in inbound.media)
    words = chosen(asked, inbound.text)
    text = f"{words}\n[with it they sent: {files}]".strip() if files else words
    by = sender_of(inbound).name
    return replace(event, text=text or EMPTY, by=by, message=ref(inbound))


def _relayed(session: Session, inbound: Inbound, at: float) -> e.MessageRelayed | e.CommandRun:
    reply = _to(session, inbound, ReplyId(f"{ref(inbound)}/0"), inbound.text)
    if inbound.address.platform == CALL and session.turn is not None:  # of a child of this turn
        reply = replace(reply, address=session.turn.address)
    whole = replace(reply, media=inbound.media, buttons=inbound.buttons)
    if UNREAD in inbound.labels or inbound.conversation:
        return e.CommandRun(ref(inbound), at, (whole,))
    replies = () if MIRRORED in inbound.labels else (whole,)
    return e.MessageRelayed(ref(inbound), inbound.text, at, replies)


def _to(session: Session, inbound: Inbound, id_: ReplyId, text: str) -> Reply:
    address = inbound.address
    return Reply(id=id_, session=session.key, address=address, text=text, kind="notice")


def _refused(session: Session, step: s.RunCommand, at: float) -> e.CommandRun:
    inbound = step.inbound
    reply = _to(session, inbound, ReplyId(f"{ref(inbound)}/0"), NOT_YOURS.format(step.name))
    return e.CommandRun(ref(inbound), at, (reply,))


def _launches(step: s.Step) -> tuple[Launch, ...]:
    match step:
        case s.RunCalls(turn=turn, calls=calls):
            return tuple(Launch(turn=turn, call=call) for call in calls)
        case s.RecoverCall(turn=turn, call=call):
            return (Launch(turn=turn, call=call, recover=True),)
        case _:
            return ()


def _notice(session: Session, text: str) -> tuple[Reply, ...]:
    id_ = ReplyId(f"{session.id}/{session.position}")
    return (_reply(session, id_, text, "notice", Outcome.FAILED),)


def _reply(session: Session, id_: ReplyId, text: str, kind: ReplyKind, outcome: Outcome) -> Reply:
    turn = session.turn
    if turn is None:
        raise Refused("there is no person to reply to")
    reply = Reply(id=id_, session=session.key, address=turn.address, text=text, kind=kind)
    return last_words(turn, in_place_of_draft(turn, reply), outcome)
