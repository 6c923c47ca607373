"""What to do next, as a value. The worker performs it; nothing here touches the world.

Running, resuming, approving, queueing and stopping are the same question asked of the same state,
so there is no resume code.
"""

from typing import TYPE_CHECKING, assert_never

from msgspec.json import encode

from hermes.core.budget import over_budget, spent
from hermes.core.loop_guard import ANSWERS_MAX, REFUSED, WHY, answers, loop_call
from hermes.core.messages import REPLY, Call, Inbound
from hermes.core.people import Role, sender_of
from hermes.core.repeats import stuck
from hermes.core.rules import Ask, Busy, DecisionContext, Deny, Rules
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
from hermes.core.step_calls import next_for_calls, results_of
from hermes.core.step_goals import goal_interrupted, next_for_goal
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
    Relay,
    Reopen,
    Rest,
    ResumeTurn,
    RunCommand,
    StartTurn,
    Steer,
    Step,
    StopTurn,
    Suspend,
    TakeAnswer,
    TakeResult,
    TellQueued,
)
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from hermes.core import job_runs
else:
    job_runs = LazyModule("hermes.core.job_runs")

KEPT = "My answer holds something private, and my owner has not allowed me to share it here."


def next_step(session: Session, rules: Rules, context: DecisionContext) -> Step:
    first = _sent_away(session, rules, context) or _command(session, rules) or _passed_on(session)
    if first is None and (paused := goal_interrupted(session)) is not None:
        return paused
    if first is not None:
        return first
    match session.phase:
        case Idle():
            return _next_of_idle(session, rules, context)
        case Suspended(why=why):
            said = _said(session, rules)
            if said and context.draining:
                return _told_to_wait(session, said, rules, context) or Postpone()
            return Reopen(why) if said else Rest()
        case Waiting(turn=turn):
            settled = _settled(session, turn, rules, context)
            busy = None if session.questions else _while_busy(session, turn, rules, context)
            return settled or busy or _next_in_turn(session, turn, rules, context)
        case Running(turn=turn):
            if turn.epoch != context.epoch:
                return _next_of_interrupted(session, turn, rules, context)
            settled = _settled(session, turn, rules, context)
            busy = _while_busy(session, turn, rules, context)
            return settled or busy or _next_in_turn(session, turn, rules, context)
        case _:
            assert_never(session.phase)


def _next_of_idle(session: Session, rules: Rules, context: DecisionContext) -> Step:
    if session.compaction.wanted is not None and session.compaction.wanted.address:
        return Postpone() if context.draining else Compact(None, session.viewed_at)
    said = _said(session, rules)
    if said and context.draining:
        return _told_to_wait(session, said, rules, context) or Postpone()
    if said and _is_run(said[0]) and context.full:
        return Postpone()
    if said and not context.crowd.has_room(said[0], rules.child_limits):
        return Postpone()
    if said:
        return StartTurn(tuple(ref(inbound) for inbound in said))
    return Rest() if session.waiting else next_for_goal(session, rules, context)


def _sent_away(session: Session, rules: Rules, context: DecisionContext) -> Drop | Expel | None:
    """What a person began who is not welcome any more is not read, and not gone on with."""
    for inbound in session.waiting:
        stranger = inbound.settles is None and _role(inbound, rules, context) is Role.STRANGER
        refused = inbound.automatic and answers(session, inbound.sender.id) == REFUSED
        if stranger or refused or (session.removed and _is_run(inbound)):
            return Drop(inbound)
    turn = session.turn if isinstance(session.phase, Running | Waiting) else None
    if turn is None:
        return None
    gone = session.removed and turn.options.run is not None
    if gone or rules.role(speaker(session, turn), context.register) is Role.STRANGER:
        return Expel(turn.id)
    return None


def _role(inbound: Inbound, rules: Rules, context: DecisionContext) -> Role:
    return rules.role(sender_of(inbound), context.register)


def _least(session: Session, turn: Turn, rules: Rules, context: DecisionContext) -> Role:
    """Return the role of the weakest person whose words are in the turn (C64)."""
    return max(rules.role(sender, context.register) for sender in speakers(session, turn))


def _passed_on(session: Session) -> Relay | Drop | StopTurn | None:
    """What is passed on waits for nothing; the turn of this chat, if any, is not touched. A result
    of a call that is over is for no one. A stop ends what it finds, and what waits before it."""
    turn = session.turn
    open_ = {t.call.id for t in turn.call_states if t.stage is not Stage.ENDED} if turn else ()
    for inbound in session.waiting:
        if inbound.origin == "relay" or _is_of_the_past(session, inbound):
            return Relay(inbound)
        if inbound.settles is not None and inbound.settles.call not in open_:
            return Drop(inbound)
        if inbound.stops:
            return StopTurn(turn.id) if turn is not None else Drop(session.waiting[0])
    return None


def _is_of_the_past(session: Session, inbound: Inbound) -> bool:
    """Return True for a report on what an earlier conversation wanted: only its person reads it."""
    return bool(inbound.conversation) and inbound.conversation != session.id


def _settled(
    session: Session, turn: Turn, rules: Rules, context: DecisionContext
) -> LetExpire | TakeAnswer | TakeResult | None:
    """What ends a call that waits: its result, a person's words where these are the result, or
    that its time is over. A result that is faster than its call's deferral waits for that."""
    for call_state in filter(waits, turn.call_states):
        if results := results_of(session, call_state):
            return TakeResult(turn.id, call_state.call, results)
        for inbound in session.waiting:
            asked = call_state.wants_text and _is_asked(call_state, inbound)
            if asked and _is_answer(session, turn, inbound, rules, context):
                return TakeAnswer(turn.id, call_state.call.id, inbound)
        if 0 < call_state.expires_at <= context.at:
            return LetExpire(turn.id, call_state.call.id)
    return None


def _is_answer(
    session: Session, turn: Turn, inbound: Inbound, rules: Rules, context: DecisionContext
) -> bool:
    """Return True if this is said where the turn speaks, with at least the turn's rights."""
    if command_name(inbound) in rules.commands:
        return False
    least = _least(session, turn, rules, context)
    return inbound.address == turn.address and _role(inbound, rules, context) <= least


def _is_asked(call_state: CallState, inbound: Inbound) -> bool:
    """Return True if the one who was asked says this, behind the question."""
    spoken = inbound.origin == "person" and not inbound.automatic
    later = ref(inbound) not in call_state.queued
    return spoken and later and call_state.asked in ("", sender_of(inbound).name)


def answers_question(session: Session, inbound: Inbound) -> bool:
    """Return True if the person who was asked something has said this since."""
    return any(asked.wants_text and _is_asked(asked, inbound) for asked in session.questions)


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
    call_states = session.turn.call_states if session.turn is not None else ()
    return any(call_state.stage is not Stage.ENDED for call_state in call_states)


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
        if _is_run(inbound):  # each is a turn of its own
            return tuple(said) or (inbound,)
        if inbound.settles is None:
            said.append(inbound)
    return tuple(said)


def _is_run(inbound: Inbound) -> bool:
    return inbound.options is not None and inbound.options.run is not None


def _while_busy(
    session: Session, turn: Turn, rules: Rules, context: DecisionContext
) -> Step | None:
    said = _said(session, rules)
    least = _least(session, turn, rules, context)
    pressing = [i for i in said if not i.waits and _role(i, rules, context) <= least]
    if pressing and rules.busy == "interrupt":
        return Interrupt(turn.id)
    if pressing and rules.busy == "steer":
        return Steer(turn.id, pressing[0]) if _calls_are_open(session) else None
    return _told_to_wait(session, said, rules, context)


def _told_to_wait(
    session: Session, said: tuple[Inbound, ...], rules: Rules, context: DecisionContext
) -> TellQueued | None:
    """Once for a burst; a turn that answers at once makes no words about it."""
    spoken = [inbound for inbound in said if inbound.origin == "person"]
    if not spoken or session.told or spoken[0].address.platform not in rules.tells:
        return None
    return TellQueued(spoken[0], context.draining)


def _next_of_interrupted(
    session: Session, turn: Turn, rules: Rules, context: DecisionContext
) -> Step:
    """The run that we see began under another ownership: its process is gone (C10)."""
    mark = session.mark
    if mark is None or mark == turn.resumed:
        return MarkTurn(turn.id)
    if session.runs >= rules.resume.attempts_max:
        times = f"{session.runs} times in a row" if session.runs > 1 else "once"
        why = f"it was interrupted {times}, so it is not tried again by itself"
        if turn.options.run is not None:
            return Finish(turn.id, why, failed=True)
        return Suspend(turn.id, why)
    if turn.options.run is not None:
        return _next_of_run(turn, context)
    said = tuple(ref(inbound) for inbound in _said(session, rules))
    new = any(message not in mark.queued for message in said)
    limit = rules.resume.freshness_s
    fresh = limit == 0 or abs(context.at - mark.at) <= limit
    if not new and not context.asked:
        if not (rules.resume.auto and fresh):
            return Rest()
        if not context.resumes:
            return Postpone(give_up=True)
    if context.draining or turn.address.platform in context.absent:
        return Postpone()
    return ResumeTurn(turn.id, said if new else ())  # what came later overtakes nothing (C60)


def _next_of_run(turn: Turn, context: DecisionContext) -> Step:
    """An interrupted run goes on, however long ago that was; no other occurrence joins it."""
    if not context.resumes and not context.asked:
        return Postpone(give_up=True)
    return Postpone() if context.draining or context.full else ResumeTurn(turn.id, ())


def _next_in_turn(session: Session, turn: Turn, rules: Rules, context: DecisionContext) -> Step:
    if turn.answer is not None:
        return _next_of_answer(session, turn, rules, context)
    if turn.automatic and not turn.steps and (asked := _loop(session, turn)) is not None:
        return asked
    if any(call_state.stage is not Stage.ENDED for call_state in turn.call_states):
        return next_for_calls(session, turn, rules, context)
    if turn.options.calls and not turn.steps:
        return GiveCalls(turn.id, turn.options.calls)
    if turn.options.run is not None and (over := job_runs.end_of_run(turn, context.at)) is not None:
        return over
    why = stuck(turn) or spent(turn, rules.limits)
    why = why or over_budget(turn, session.used, context.ledger, rules.budgets)
    if why:
        return Finish(turn.id, why, failed=turn.options.run is not None)
    if not session.facts.prompt:
        return Prepare(turn.id)
    if _is_too_long(session, rules, context):
        return Compact(turn.id, session.viewed_at)
    return AskModel(turn.id, turn.steps)


def _loop(session: Session, turn: Turn) -> Step | None:
    """A program that was answered often enough is answered again when the owner says so (P8)."""
    had = answers(session, turn.sender)
    if had == REFUSED:
        return Interrupt(turn.id)
    if had < ANSWERS_MAX:
        return None
    return Rest() if turn.call_states else AskPerson(turn.id, loop_call(turn), WHY)


def _next_of_answer(session: Session, turn: Turn, rules: Rules, context: DecisionContext) -> Step:
    """It is sent, unless others would read there what was read in private: then it is asked about
    like a call, once."""
    answer = turn.answer or ""
    for asked in turn.call_states:
        if asked.call.tool == REPLY and asked.stage is Stage.ASKED:
            return Rest()
        if asked.call.tool == REPLY and asked.stage is not Stage.INTENDED:
            return Finish(turn.id, answer if asked.approved else KEPT)
    call = Call(id=call_id(turn, 1), tool=REPLY, arguments=encode({"text": answer}).decode())
    match rules.may_answer(session, call, context):
        case Ask(why=why):
            return AskPerson(turn.id, call, why)
        case Deny():
            return Finish(turn.id, KEPT)
        case _:
            return Finish(turn.id, answer)


def _is_too_long(session: Session, rules: Rules, context: DecisionContext) -> bool:
    if session.compaction.wanted is not None:
        return True
    window = rules.window(session)
    full = window > 0 and session.filled >= rules.full_at * window
    return full and context.at >= session.compaction.not_before
