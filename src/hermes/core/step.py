"""What to do next, as a value. The worker performs it; nothing here touches the world.

Running, resuming, approving, queueing and stopping are the same question asked of the same state,
so there is no resume code.
"""

from typing import assert_never

from msgspec.json import encode

from hermes.core.budget import over_budget, spent
from hermes.core.loop_guard import ANSWERS_MAX, REFUSED, WHY, answers, loop_call
from hermes.core.messages import REPLY, Call, Effect, Inbound
from hermes.core.people import Role, sender_of
from hermes.core.rules import Allow, AllowSandboxed, Ask, Busy, DecisionContext, Deny, Rules
from hermes.core.session import (
    CallState,
    Idle,
    Running,
    Session,
    Stage,
    Suspended,
    Turn,
    Waiting,
    call_id,
    ref,
    speaker,
    speakers,
    waits,
)
from hermes.core.steps import (
    AskModel,
    AskPerson,
    Compact,
    Drop,
    Expel,
    Finish,
    GiveCalls,
    Interrupt,
    LetExpire,
    MarkTurn,
    Postpone,
    Prepare,
    RecoverCall,
    RefuseCall,
    Relay,
    Reopen,
    Rest,
    ResumeTurn,
    RunCalls,
    RunCommand,
    SettleCall,
    StartTurn,
    Steer,
    Step,
    Suspend,
    TakeAnswer,
    TakeResult,
    TellQueued,
    Wait,
)

PARALLEL_MAX = 8
KEPT = "My answer holds something private, and my owner has not allowed me to share it here."


def next_step(session: Session, rules: Rules, moment: DecisionContext) -> Step:
    first = _sent_away(session, rules, moment) or _command(session, rules) or _passed_on(session)
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
        case Waiting(turn=turn):
            settled = _settled(session, turn, rules, moment)
            busy = None if session.questions else _while_busy(session, turn, rules, moment)
            return settled or busy or _next_in_turn(session, turn, rules, moment)
        case Running(turn=turn):
            if turn.epoch != moment.epoch:
                return _next_of_interrupted(session, turn, rules, moment)
            settled = _settled(session, turn, rules, moment)
            busy = _while_busy(session, turn, rules, moment)
            return settled or busy or _next_in_turn(session, turn, rules, moment)
        case _:
            assert_never(session.phase)


def _sent_away(session: Session, rules: Rules, moment: DecisionContext) -> Drop | Expel | None:
    """What a person began who is not welcome any more is not read, and not gone on with."""
    for inbound in session.waiting:
        stranger = inbound.settles is None and _role(inbound, rules, moment) is Role.STRANGER
        refused = inbound.automatic and answers(session, inbound.sender.id) == REFUSED
        if stranger or refused:
            return Drop(inbound)
    turn = session.turn if isinstance(session.phase, Running | Waiting) else None
    if turn is not None and rules.role(speaker(session, turn), moment.register) is Role.STRANGER:
        return Expel(turn.id)
    return None


def _role(inbound: Inbound, rules: Rules, moment: DecisionContext) -> Role:
    return rules.role(sender_of(inbound), moment.register)


def _least(session: Session, turn: Turn, rules: Rules, moment: DecisionContext) -> Role:
    """Return the role of the weakest person whose words are in the turn (C64)."""
    return max(rules.role(sender, moment.register) for sender in speakers(session, turn))


def _passed_on(session: Session) -> Relay | Drop | None:
    """What is passed on waits for nothing; the turn of this chat, if any, is not touched. A result
    of a call that is over is for no one."""
    turn = session.turn
    open_ = {t.call.id for t in turn.tracks if t.stage is not Stage.ENDED} if turn else ()
    for inbound in session.waiting:
        if inbound.origin == "relay":
            return Relay(inbound)
        if inbound.settles is not None and inbound.settles.call not in open_:
            return Drop(inbound)
    return None


def _settled(
    session: Session, turn: Turn, rules: Rules, moment: DecisionContext
) -> LetExpire | TakeAnswer | TakeResult | None:
    """What ends a call that waits: its result, a person's words where these are the result, or
    that its time is over. A result that is faster than its call's deferral waits for that."""
    for track in filter(waits, turn.tracks):
        for inbound in session.waiting:
            if track.stage is Stage.DEFERRED and _is_result_of(inbound, track):
                return TakeResult(turn.id, track.call.id, inbound)
            if track.wants_text and _is_answer(session, turn, inbound, rules, moment):
                return TakeAnswer(turn.id, track.call.id, inbound)
        if 0 < track.expires_at <= moment.at:
            return LetExpire(turn.id, track.call.id)
    return None


def _is_result_of(inbound: Inbound, track: CallState) -> bool:
    return inbound.settles is not None and inbound.settles.call == track.call.id


def _is_answer(
    session: Session, turn: Turn, inbound: Inbound, rules: Rules, moment: DecisionContext
) -> bool:
    """Return True if a person says this where the turn speaks, with at least the turn's rights."""
    spoken = inbound.origin == "person" and not inbound.automatic
    if not spoken or command_name(inbound) in rules.commands:
        return False
    least = _least(session, turn, rules, moment)
    return inbound.address == turn.address and _role(inbound, rules, moment) <= least


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
    if inbound.origin != "person" or inbound.automatic or not inbound.text.startswith("/"):
        return ""
    return inbound.text.split(None, 1)[0].partition("@")[0].lower()


def _said(session: Session, rules: Rules) -> tuple[Inbound, ...]:
    """The messages up to the first command that waits for its turn: a burst is one turn (C60)."""
    said: list[Inbound] = []
    for inbound in session.waiting:
        if (name := command_name(inbound)) and name in rules.commands:
            break
        if inbound.settles is None:
            said.append(inbound)
    return tuple(said)


def _while_busy(session: Session, turn: Turn, rules: Rules, moment: DecisionContext) -> Step | None:
    said = _said(session, rules)
    least = _least(session, turn, rules, moment)
    pressing = [i for i in said if not i.waits and _role(i, rules, moment) <= least]
    if pressing and rules.busy == "interrupt":
        return Interrupt(turn.id)
    if pressing and rules.busy == "steer":
        return Steer(turn.id, pressing[0]) if _calls_are_open(session) else None
    return _told_to_wait(session, said, rules, moment)


def _told_to_wait(
    session: Session, said: tuple[Inbound, ...], rules: Rules, moment: DecisionContext
) -> TellQueued | None:
    """Once for a burst; a turn that answers at once makes no words about it."""
    spoken = [inbound for inbound in said if inbound.origin == "person"]
    if not spoken or session.told or spoken[0].address.platform not in rules.tells:
        return None
    return TellQueued(spoken[0], moment.draining)


def _next_of_interrupted(
    session: Session, turn: Turn, rules: Rules, moment: DecisionContext
) -> Step:
    """The run that we see began under another ownership: its process is gone (C10)."""
    mark = session.mark
    if mark is None or mark == turn.resumed:
        return MarkTurn(turn.id)
    if session.runs >= rules.resume.attempts_max:
        times = f"{session.runs} times in a row" if session.runs > 1 else "once"
        return Suspend(turn.id, f"it was interrupted {times}, so it is not tried again by itself")
    said = tuple(ref(inbound) for inbound in _said(session, rules))
    new = any(message not in mark.queued for message in said)
    limit = rules.resume.freshness_s
    fresh = limit == 0 or abs(moment.at - mark.at) <= limit
    if not new and not moment.asked:
        if not (rules.resume.auto and fresh):
            return Rest()
        if not moment.resumes:
            return Postpone(give_up=True)
    if moment.draining or turn.address.platform in moment.absent:
        return Postpone()
    return ResumeTurn(turn.id, said if new else ())  # what came later overtakes nothing (C60)


def _next_in_turn(session: Session, turn: Turn, rules: Rules, moment: DecisionContext) -> Step:
    if turn.answer is not None:
        return _next_of_answer(session, turn, rules, moment)
    if turn.automatic and not turn.steps and (asked := _loop(session, turn)) is not None:
        return asked
    if any(track.stage is not Stage.ENDED for track in turn.tracks):
        return _next_for_calls(session, turn, rules, moment)
    if turn.options.calls and not turn.steps:
        return GiveCalls(turn.id, turn.options.calls)
    why = spent(turn, rules.limits)
    why = why or over_budget(turn, session.used, moment.ledger, rules.budgets)
    if why:
        return Finish(turn.id, why)
    if not session.facts.prompt:
        return Prepare(turn.id)
    if _is_too_long(session, rules, moment):
        return Compact(turn.id, session.viewed_at)
    return AskModel(turn.id, turn.steps)


def _loop(session: Session, turn: Turn) -> Step | None:
    """A program that was answered often enough is answered again when the owner says so (P8)."""
    had = answers(session, turn.sender)
    if had == REFUSED:
        return Interrupt(turn.id)
    if had < ANSWERS_MAX:
        return None
    return Rest() if turn.tracks else AskPerson(turn.id, loop_call(turn), WHY)


def _next_of_answer(session: Session, turn: Turn, rules: Rules, moment: DecisionContext) -> Step:
    """It is sent, unless others would read there what was read in private: then it is asked about
    like a call, once."""
    answer = turn.answer or ""
    for asked in turn.tracks:
        if asked.call.tool == REPLY and asked.stage is Stage.ASKED:
            return Rest()
        if asked.call.tool == REPLY and asked.stage is not Stage.INTENDED:
            return Finish(turn.id, answer if asked.approved else KEPT)
    call = Call(id=call_id(turn, 1), tool=REPLY, arguments=encode({"text": answer}).decode())
    match rules.may_answer(session, call, moment):
        case Ask(why=why):
            return AskPerson(turn.id, call, why)
        case Deny():
            return Finish(turn.id, KEPT)
        case _:
            return Finish(turn.id, answer)


def _is_too_long(session: Session, rules: Rules, moment: DecisionContext) -> bool:
    if session.compaction.wanted is not None:
        return True
    window = rules.window(session)
    full = window > 0 and session.filled >= rules.full_at * window
    return full and moment.at >= session.compaction.not_before


def _next_for_calls(session: Session, turn: Turn, rules: Rules, moment: DecisionContext) -> Step:
    """In the model's order. Calls that may run side by side do, whether they are at work or wait
    for something outside; nothing overtakes one that may not."""
    open_ = [track for track in turn.tracks if track.stage is not Stage.ENDED]
    flying = [t for t in open_ if t.stage is Stage.STARTED and t.epoch == moment.epoch]
    together: list[Call] = []
    before = 0  # calls that are at work or wait
    for track in open_:
        beside = rules.parallel(track.call)
        if track in flying or waits(track):
            before += 1
            if not beside:
                break
            continue
        step = _next_for_call(session, turn, track, rules, moment)
        if not (beside and isinstance(step, RunCalls)):
            free = not before or (beside and not flying)
            return step if free and not together else _begun(turn, together, flying)
        together.append(track.call)
        if len(together) + len(flying) >= PARALLEL_MAX:
            break
    return _begun(turn, together, flying)


def _begun(turn: Turn, calls: list[Call], flying: list[CallState]) -> Step:
    if calls:
        return RunCalls(turn.id, tuple(calls))
    return Wait() if flying else Rest()


def _next_for_call(
    session: Session, turn: Turn, track: CallState, rules: Rules, moment: DecisionContext
) -> Step:
    call = track.call
    if track.stage is Stage.STARTED and track.effect is Effect.EFFECT:
        seeks = call.tool in rules.recovers
        return RecoverCall(turn.id, call) if seeks else SettleCall(turn.id, call)
    if call.fault:
        return RefuseCall(turn.id, call, call.fault, denied=False)
    if track.stage in (Stage.ALLOWED, Stage.STARTED):
        return RunCalls(turn.id, (call,))
    match rules.verdict(session, call, moment):
        case Allow() | AllowSandboxed():
            return RunCalls(turn.id, (call,))
        case Ask(why=why):
            return AskPerson(turn.id, call, why)
        case Deny(why=why):
            return RefuseCall(turn.id, call, why, denied=True)
