"""From a decision to the events that make it true, as far as nobody has to be waited for.

Pure: what a worker commits next is a value. Steps that only record something are taken together,
so that the end of a turn, its replies and the cleared mark are one commit.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.channel import Command, Obeyed, Order
from hermes.core.directory import MIRRORED, UNREAD
from hermes.core.errors import Refused
from hermes.core.fold import fold
from hermes.core.ids import ReplyId, SessionId, TurnId
from hermes.core.messages import Call, Effect, Inbound, Outcome, Reply, ReplyKind
from hermes.core.people import sender_of
from hermes.core.rules import Rules
from hermes.core.session import Session, ref
from hermes.core.transcript import LOST
from hermes.gateway.present import Present

EVENTS_MAX = 200  # in one commit
PARKED = "I stopped working on your last request:"
RETRY = " Send /retry to try once more, or just write: a new conversation begins."
QUEUED = "Your message waits until I am done with the one before. /stop ends that one."
AFTER_RESTART = "I am about to be restarted. Your message is kept; I answer it when I am back."
NOT_YOURS = "{} is for my owner."
EXPIRED = (
    "Nobody answered in time, so this was not allowed and nothing was run. Go on without it, or "
    "say what you would need."
)
REOPENED = "This is a new conversation. The one before is kept (/resume brings it back):"


class Launch(Struct, frozen=True, kw_only=True):
    """Work to begin once the plan is durable."""

    turn: TurnId
    call: Call
    seek: bool = False


class Errand(Struct, frozen=True, kw_only=True):
    """A command that has to look something up, at the session as it is then."""

    command: Command
    order: Order


Why = Literal["interrupted", "revoked"]


class More(Struct, frozen=True):
    """There is more to decide than fits into one commit."""


# What a worker asks the agent, one at a time.
Question = s.Prepare | s.Compact | s.AskModel | s.AskPerson


class Plan(Struct, frozen=True, kw_only=True):
    events: tuple[e.Event, ...]
    launches: tuple[Launch | Errand, ...]
    then: s.Rest | s.Postpone | s.Wait | Question | More


class Planner(Struct, frozen=True, kw_only=True):
    rules: Rules
    commands: Mapping[str, Command]
    present: Present
    new_id: Callable[[], str]

    def plan(
        self,
        session: Session,
        arrived: Sequence[e.Event],
        *,
        epoch: int,
        reached: bool,
        errands: Collection[str] = (),
    ) -> Plan:
        """Take in what arrived, then decide until something has to be waited for.

        A result for a turn that was stopped meanwhile does not fit any more and is dropped.
        `errands` names the messages whose commands are being looked up already.
        """
        events: list[e.Event] = []
        launches: list[Launch | Errand] = []
        for event in arrived:
            try:
                session = fold(session, event)
            except Refused:
                continue
            events.append(event)
        while len(events) < EVENTS_MAX:
            step = s.next_step(session, self.rules, self.present.moment(epoch))
            if isinstance(step, s.Rest | s.Postpone | s.Wait | Question):
                return Plan(events=tuple(events), launches=tuple(launches), then=step)
            if isinstance(step, s.RunCommand) and not self._may(step):
                events.append(_refused(session, step, self.present.clock()))
                session = fold(session, events[-1])
                continue
            if isinstance(step, s.RunCommand) and self.commands[step.name].run is None:
                if ref(step.inbound) not in errands:
                    order = self._order(session, step, epoch=epoch, reached=reached)
                    launches.append(Errand(command=self.commands[step.name], order=order))
                return Plan(events=tuple(events), launches=tuple(launches), then=s.Wait())
            for event in self._recorded(session, step, epoch=epoch, reached=reached):
                session = fold(session, event)
                events.append(event)
            launches += _launches(step)
        return Plan(events=tuple(events), launches=tuple(launches), then=More())

    def _recorded(
        self, session: Session, step: s.Step, *, epoch: int, reached: bool
    ) -> tuple[e.Event, ...]:
        at = self.present.clock()
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
                id_, node = TurnId(self.new_id()), self.present.node
                return (e.TurnStarted(id_, messages, epoch, at, node),)
            case s.Interrupt(turn=turn) | s.Expel(turn=turn):
                cause: Why = "revoked" if isinstance(step, s.Expel) else "interrupted"
                return (e.TurnInterrupted(turn, cause, at, reached),)
            case s.Steer(turn=turn, inbound=inbound):
                return (e.TurnSteered(turn, ref(inbound), inbound.text, at),)
            case s.MarkTurn(turn=turn):
                return (e.TurnMarked(turn, "restart_interrupted", at),)
            case s.ResumeTurn(turn=turn, messages=messages):
                return (e.TurnResumed(turn, epoch, at, messages, self.present.node),)
            case s.Suspend(why=why):
                reply = _notice(session, f"{PARKED} {why}.{RETRY}")
                return (e.SessionSuspended(why, at, reply),)
            case _:
                return self._in_turn(session, step, epoch)

    def _in_turn(self, session: Session, step: s.Step, epoch: int) -> tuple[e.Event, ...]:
        at = self.present.clock()
        match step:
            case s.LetExpire(turn=turn, call=call_id):
                return (e.QuestionAnswered(turn, call_id, False, epoch, at, EXPIRED),)
            case s.RefuseCall(turn=turn, call=call, why=why, denied=denied):
                outcome = Outcome.DENIED if denied else Outcome.FAILED
                return (e.CallEnded(turn, call.id, outcome, why, at),)
            case s.RunCalls(turn=turn, calls=calls):
                effect, box = self.rules.effect, self.rules.box
                return tuple(e.CallStarted(turn, c.id, effect(c), epoch, at, box(c)) for c in calls)
            case s.SeekCall(turn=turn, call=call):
                box_of = self.rules.box
                return (e.CallStarted(turn, call.id, Effect.EFFECT, epoch, at, box_of(call)),)
            case s.SettleCall(turn=turn, call=call):
                return (e.CallEnded(turn, call.id, Outcome.UNKNOWN, LOST, at),)
            case s.Finish(turn=turn, text=text):
                answer = _reply(session, ReplyId(f"{turn}/0"), text, "answer")
                answer = replace(answer, labels=session.view.labels)
                return (e.TurnEnded(turn, "answered", at, (answer,)),)
            case _:
                raise Refused(f"{type(step).__name__} is not recorded but performed")

    def _obeyed(
        self, session: Session, step: s.RunCommand, *, epoch: int, reached: bool
    ) -> tuple[e.Event, ...]:
        order = self._order(session, step, epoch=epoch, reached=reached)
        run = self.commands[step.name].run
        assert run is not None, "a command that looks something up is an errand"
        return obeyed(order, run(order))

    def _order(self, session: Session, step: s.RunCommand, *, epoch: int, reached: bool) -> Order:
        return Order(
            session=session,
            inbound=step.inbound,
            argument="".join(step.inbound.text.split(None, 1)[1:]).strip(),
            at=self.present.clock(),
            epoch=epoch,
            reached=reached,
            new_session=lambda: SessionId(self.new_id()),
            role=self.rules.role(sender_of(step.inbound)),
        )

    def _may(self, step: s.RunCommand) -> bool:
        return self.rules.role(sender_of(step.inbound)) <= self.commands[step.name].least

    def _reopened(self, session: Session, why: str) -> e.SessionReset:
        id_ = ReplyId(f"{session.id}/{session.position}")
        notice = _to(session, session.waiting[0], id_, f"{REOPENED} {why}.")
        opens, at = SessionId(self.new_id()), self.present.clock()
        return e.SessionReset(opens, why, at, replies=(notice,))


def obeyed(order: Order, result: Obeyed) -> tuple[e.Event, ...]:
    """What a command made true, and that it was run."""
    done = e.CommandRun(ref(order.inbound), order.at, result.replies)
    return (*result.events, done)


def _relayed(session: Session, inbound: Inbound, at: float) -> e.MessageRelayed | e.CommandRun:
    reply = _to(session, inbound, ReplyId(f"{ref(inbound)}/0"), inbound.text)
    whole = replace(reply, media=inbound.media, buttons=inbound.buttons)
    if UNREAD in inbound.labels:
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
        case s.SeekCall(turn=turn, call=call):
            return (Launch(turn=turn, call=call, seek=True),)
        case _:
            return ()


def _notice(session: Session, text: str) -> tuple[Reply, ...]:
    id_ = ReplyId(f"{session.id}/{session.position}")
    return (_reply(session, id_, text, "notice"),)


def _reply(session: Session, id_: ReplyId, text: str, kind: ReplyKind) -> Reply:
    turn = session.turn
    if turn is None:
        raise Refused("there is nobody to reply to")
    return Reply(
        id=id_,
        session=session.key,
        address=turn.address,
        text=text,
        kind=kind,
        replaces=turn.draft,
    )
