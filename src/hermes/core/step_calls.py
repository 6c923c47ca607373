"""What comes next for the calls of an answer: judge, ask, run, recover, or wait for them.

A part of `step.next_step`; pure like it.
"""

from hermes.core.messages import Call, Effect, Inbound
from hermes.core.rules import Allow, AllowSandboxed, Ask, DecisionContext, Deny, Rules
from hermes.core.session import CallState, Session, Stage, Turn, waits
from hermes.core.steps import (
    AskPerson,
    RecoverCall,
    RefuseCall,
    Rest,
    RunCalls,
    SettleCall,
    Step,
    Wait,
)

PARALLEL_MAX = 8


def next_for_calls(session: Session, turn: Turn, rules: Rules, context: DecisionContext) -> Step:
    """In the model's order. Calls that may run side by side do, whether they are at work or wait
    for something outside; nothing overtakes one that may not."""
    open_ = [call_state for call_state in turn.call_states if call_state.stage is not Stage.ENDED]
    flying = [t for t in open_ if t.stage is Stage.STARTED and t.epoch == context.epoch]
    together: list[Call] = []
    before = 0  # calls that are at work or wait
    for call_state in open_:
        parallel = rules.parallel(call_state.call)
        if call_state in flying or waits(call_state):
            before += 1
            if not parallel:
                break
            continue
        step = _next_for_call(session, turn, call_state, rules, context)
        if not (parallel and isinstance(step, RunCalls)):
            free = not before or (parallel and not flying)
            return step if free and not together else _begun(turn, together, flying)
        together.append(call_state.call)
        if len(together) + len(flying) >= PARALLEL_MAX:
            break
    return _begun(turn, together, flying)


def _begun(turn: Turn, calls: list[Call], flying: list[CallState]) -> Step:
    if calls:
        return RunCalls(turn.id, tuple(calls))
    return Wait() if flying else Rest()


def _next_for_call(
    session: Session, turn: Turn, call_state: CallState, rules: Rules, context: DecisionContext
) -> Step:
    call = call_state.call
    if call_state.stage is Stage.STARTED and call_state.effect is Effect.EFFECT:
        seeks = call.tool in rules.recovers
        return RecoverCall(turn.id, call) if seeks else SettleCall(turn.id, call)
    if call.fault:
        return RefuseCall(turn.id, call, call.fault, denied=False)
    if call_state.stage in (Stage.ALLOWED, Stage.STARTED):
        return RunCalls(turn.id, (call,))
    match rules.verdict(session, call, context):
        case Allow() | AllowSandboxed():
            return RunCalls(turn.id, (call,))
        case Ask(why=why):
            return AskPerson(turn.id, call, why)
        case Deny(why=why):
            return RefuseCall(turn.id, call, why, denied=True)


def results_of(session: Session, call_state: CallState) -> tuple[Inbound, ...]:
    """What ends a deferred call; nothing while a part of it is missing."""
    found: dict[int, Inbound] = {}
    for inbound in session.waiting if call_state.stage is Stage.DEFERRED else ():
        if inbound.settles is not None and inbound.settles.call == call_state.call.id:
            found.setdefault(inbound.settles.part, inbound)
    wanted = range(1, call_state.parts + 1) if call_state.parts else tuple(found)[:1]
    return tuple(found[part] for part in wanted) if all(n in found for n in wanted) else ()
