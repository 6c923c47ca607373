"""What to do next, as a value. The worker performs it; nothing here touches the world.

Running, resuming, approving, queueing and stopping are the same question asked of the same state,
so there is no resume code.
"""

from typing import assert_never

from msgspec import Struct

from hermes.core.budget import over_budget, spent
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Call, Effect, Inbound
from hermes.core.people import Role, sender_of
from hermes.core.rules import Allow, AllowSandboxed, Ask, Busy, Deny, Moment, Rules
from hermes.core.session import (
    Asking,
    Idle,
    Running,
    Session,
    Stage,
    Suspended,
    Track,
    Turn,
    ref,
    speaker,
)

PARALLEL_MAX = 8


class Rest(Struct, frozen=True):
    """Nothing to do until another event arrives."""


class Postpone(Struct, frozen=True):
    """There is something to do, but not now; the session stays ready for it."""


class Wait(Struct, frozen=True):
    """Calls are in flight in this process; ask again when one ends."""


class Drop(Struct, frozen=True):
    """Whoever sent this has been sent away since."""

    inbound: Inbound


class Expel(Struct, frozen=True):
    """The turn's person has been sent away."""

    turn: TurnId


class RunCommand(Struct, frozen=True):
    name: str
    inbound: Inbound


class Relay(Struct, frozen=True):
    """Another conversation has something to say in this chat."""

    inbound: Inbound


class TellQueued(Struct, frozen=True):
    """A message has to wait, and its sender should know."""

    inbound: Inbound
    draining: bool


class Reopen(Struct, frozen=True):
    """The session was suspended and a message came: it gets another conversation."""

    why: str


class StartTurn(Struct, frozen=True):
    messages: tuple[str, ...]


class Interrupt(Struct, frozen=True):
    """A message came in a mode that stops the running turn for it."""

    turn: TurnId


class Steer(Struct, frozen=True):
    """A message came in a mode that puts it behind the next result."""

    turn: TurnId
    inbound: Inbound


class MarkTurn(Struct, frozen=True):
    turn: TurnId


class ResumeTurn(Struct, frozen=True):
    turn: TurnId
    messages: tuple[str, ...]


class Suspend(Struct, frozen=True):
    turn: TurnId
    why: str


class AskModel(Struct, frozen=True):
    turn: TurnId
    ordinal: int


class Prepare(Struct, frozen=True):
    """The conversation has no system prompt yet."""

    turn: TurnId


class Compact(Struct, frozen=True):
    """Sum the conversation up, within a turn or for a person who asked. It is the one that a
    model reads since position `of`."""

    turn: TurnId | None
    of: int


class AskPerson(Struct, frozen=True):
    turn: TurnId
    call: Call
    why: str


class LetExpire(Struct, frozen=True):
    """Nobody has answered in time, which is a no."""

    turn: TurnId
    call: CallId


class RefuseCall(Struct, frozen=True):
    """The call cannot or may not be made; it ends with that sentence."""

    turn: TurnId
    call: Call
    why: str
    denied: bool


class RunCalls(Struct, frozen=True):
    """Start these together: reads in parallel, or one call with an effect."""

    turn: TurnId
    calls: tuple[Call, ...]


class SeekCall(Struct, frozen=True):
    """A call with an effect was lost in a crash; its tool can look for the outcome."""

    turn: TurnId
    call: Call


class SettleCall(Struct, frozen=True):
    """A call with an effect was lost in a crash and must not run twice: report it as unknown."""

    turn: TurnId
    call: Call


class Finish(Struct, frozen=True):
    turn: TurnId
    text: str


Step = (
    Rest
    | Postpone
    | Wait
    | Drop
    | Expel
    | RunCommand
    | Relay
    | TellQueued
    | Reopen
    | StartTurn
    | Interrupt
    | Steer
    | MarkTurn
    | ResumeTurn
    | Suspend
    | Prepare
    | Compact
    | AskModel
    | AskPerson
    | LetExpire
    | RefuseCall
    | RunCalls
    | SeekCall
    | SettleCall
    | Finish
)


def next_step(session: Session, rules: Rules, moment: Moment) -> Step:
    first = _sent_away(session, rules) or _command(session, rules) or _relay(session)
    if first is not None:
        return first
    match session.phase:
        case Idle():
            if session.compaction.wanted is not None and session.compaction.wanted.address:
                return Postpone() if moment.draining else Compact(None, session.viewed_at)
            said = _said(session, rules)
            if said and moment.draining:
                return _told_to_wait(session, said, rules, moment) or Postpone()
            return StartTurn(tuple(ref(inbound) for inbound in said)) if said else Rest()
        case Suspended(why=why):
            said = _said(session, rules)
            if said and moment.draining:
                return _told_to_wait(session, said, rules, moment) or Postpone()
            return Reopen(why) if said else Rest()
        case Asking(turn=turn, call=call, expires_at=expires_at):
            return LetExpire(turn.id, call) if 0 < expires_at <= moment.at else Rest()
        case Running(turn=turn):
            if turn.epoch != moment.epoch:
                return _next_of_interrupted(session, turn, rules, moment)
            busy = _while_busy(session, turn, rules, moment)
            return busy or _next_in_turn(session, turn, rules, moment)
        case _:
            assert_never(session.phase)


def _sent_away(session: Session, rules: Rules) -> Drop | Expel | None:
    """What a person began who is not welcome any more is not read, and not gone on with."""
    for inbound in session.waiting:
        if rules.role(sender_of(inbound)) is Role.STRANGER:
            return Drop(inbound)
    turn = session.turn if isinstance(session.phase, Running | Asking) else None
    if turn is not None and rules.role(speaker(session, turn)) is Role.STRANGER:
        return Expel(turn.id)
    return None


def _relay(session: Session) -> Relay | None:
    """What is passed on waits for nothing; the turn of this chat, if any, is not touched."""
    for inbound in session.waiting:
        if inbound.origin == "relay":
            return Relay(inbound)
    return None


def _command(session: Session, rules: Rules) -> RunCommand | None:
    """The first command that may run now. A later one never overtakes an earlier one."""
    idle = isinstance(session.phase, Idle | Suspended)
    for inbound in session.waiting:
        name = command_name(inbound)
        match rules.commands.get(name) if name else None:
            case Busy.NOW:
                return RunCommand(name, inbound)
            case Busy.BETWEEN if idle or _calls_are_open(session):
                return RunCommand(name, inbound)
            case Busy.LATER if idle and inbound is session.waiting[0]:
                return RunCommand(name, inbound)
            case _:
                continue
    return None


def _calls_are_open(session: Session) -> bool:
    """What is said now is read with their results."""
    tracks = session.turn.tracks if session.turn is not None else ()
    return any(track.stage is not Stage.ENDED for track in tracks)


def command_name(inbound: Inbound) -> str:
    """`/new` of `/new please`, `/new@bot` and `/NEW`; only a person gives commands."""
    if inbound.origin != "person" or not inbound.text.startswith("/"):
        return ""
    return inbound.text.split(None, 1)[0].partition("@")[0].lower()


def _said(session: Session, rules: Rules) -> tuple[Inbound, ...]:
    """The messages up to the first command that waits for its turn: a burst is one turn (C60)."""
    said: list[Inbound] = []
    for inbound in session.waiting:
        if (name := command_name(inbound)) and name in rules.commands:
            break
        said.append(inbound)
    return tuple(said)


def _while_busy(session: Session, turn: Turn, rules: Rules, moment: Moment) -> Step | None:
    said = _said(session, rules)
    pressing = [inbound for inbound in said if not inbound.waits]
    if pressing and rules.busy == "interrupt":
        return Interrupt(turn.id)
    if pressing and rules.busy == "steer":
        return Steer(turn.id, pressing[0]) if _calls_are_open(session) else None
    return _told_to_wait(session, said, rules, moment)


def _told_to_wait(
    session: Session, said: tuple[Inbound, ...], rules: Rules, moment: Moment
) -> TellQueued | None:
    """Once for a burst; a turn that answers at once makes no words about it."""
    spoken = [inbound for inbound in said if inbound.origin == "person"]
    if not spoken or session.told or spoken[0].address.platform not in rules.tells:
        return None
    return TellQueued(spoken[0], moment.draining)


def _next_of_interrupted(session: Session, turn: Turn, rules: Rules, moment: Moment) -> Step:
    """The run that we see began under another ownership: its process is gone (C10)."""
    mark = session.mark
    if mark is None or mark == turn.resumed:
        return MarkTurn(turn.id)
    if session.runs >= rules.resume.attempts_max:
        times = f"{session.runs} times in a row"
        return Suspend(turn.id, f"it was interrupted {times}, so it is not tried again by itself")
    said = tuple(ref(inbound) for inbound in _said(session, rules))
    new = any(message not in mark.queued for message in said)
    limit = rules.resume.freshness_s
    auto = rules.resume.auto and moment.resumes
    fresh = limit == 0 or abs(moment.at - mark.at) <= limit
    if not new and not (auto and fresh):
        return Rest()
    if moment.draining or turn.address.platform in moment.absent:
        return Postpone()
    return ResumeTurn(turn.id, said if new else ())  # what came later overtakes nothing (C60)


def _next_in_turn(session: Session, turn: Turn, rules: Rules, moment: Moment) -> Step:
    if turn.answer is not None:
        return Finish(turn.id, turn.answer)
    open_ = [track for track in turn.tracks if track.stage is not Stage.ENDED]
    if open_:
        return _next_for_calls(session, turn, rules, moment)
    why = spent(turn, rules.limits)
    why = why or over_budget(turn, session.used, moment.ledger, rules.budgets)
    if why:
        return Finish(turn.id, why)
    if "prompt" not in session.facts:
        return Prepare(turn.id)
    if _is_too_long(session, rules, moment):
        return Compact(turn.id, session.viewed_at)
    return AskModel(turn.id, turn.steps)


def _is_too_long(session: Session, rules: Rules, moment: Moment) -> bool:
    if session.compaction.wanted is not None:
        return True
    window = rules.window(session)
    full = window > 0 and session.filled >= rules.full_at * window
    return full and moment.at >= session.compaction.not_before


def _next_for_calls(session: Session, turn: Turn, rules: Rules, moment: Moment) -> Step:
    """In the model's order. Reads that stand together run together; nothing overtakes an effect."""
    open_ = [track for track in turn.tracks if track.stage is not Stage.ENDED]
    flying = [t for t in open_ if t.stage is Stage.STARTED and t.epoch == moment.epoch]
    reads: list[Call] = []
    for track in open_:
        if track in flying:
            if track.effect is not Effect.READ:
                return Wait()
            continue
        step = _next_for_call(session, turn, track, rules)
        if not isinstance(step, RunCalls):
            return Wait() if flying else (step if not reads else RunCalls(turn.id, tuple(reads)))
        if rules.effect(track.call) is not Effect.READ:
            return Wait() if flying else (step if not reads else RunCalls(turn.id, tuple(reads)))
        reads.append(track.call)
        if len(reads) + len(flying) >= PARALLEL_MAX:
            break
    return RunCalls(turn.id, tuple(reads)) if reads else Wait()


def _next_for_call(session: Session, turn: Turn, track: Track, rules: Rules) -> Step:
    call = track.call
    if track.stage is Stage.STARTED and track.effect is Effect.EFFECT:
        seeks = call.tool in rules.recovers
        return SeekCall(turn.id, call) if seeks else SettleCall(turn.id, call)
    if call.fault:
        return RefuseCall(turn.id, call, call.fault, denied=False)
    if track.stage in (Stage.ALLOWED, Stage.STARTED):
        return RunCalls(turn.id, (call,))
    match rules.verdict(session, call):
        case Allow() | AllowSandboxed():
            return RunCalls(turn.id, (call,))
        case Ask(why=why):
            return AskPerson(turn.id, call, why)
        case Deny(why=why):
            return RefuseCall(turn.id, call, why, denied=True)
