"""Notice a turn that goes in circles (C65).

It makes the same call with the same result, or one of its tools keeps failing.

All of it is counted when a call's end is folded, so a restart changes nothing. What is said behind
a result is part of its event: a model reads the same words in every later request.
"""

from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.grants import canonical
from hermes.core.messages import Call, Effect, Outcome
from hermes.core.session import SeenCall, Session, Stage, Turn

TIMES_MAX = 4  # with the same result; then the turn ends
FAILURES_TOLD = 5  # in a row, of one tool
SEEN_MAX = 200  # calls of a turn that are remembered, the latest ones
AGAIN = (
    "[Hermes: this is the same call with the same result as before. Making it again will "
    "not change anything: use this result, try another way, or say what blocks you.]"
)
LAST = "[Hermes: this call had the same result {} times, so the turn ends here.]"
FAILING = (
    "[Hermes: {} has failed {} times in a row. Read what it said, and try another way or "
    "tell the person what blocks you.]"
)


def with_call(turn: Turn, event: e.CallEnded) -> Turn:
    """Return the turn, with one more call that ended like this. `turn` is as it was before."""
    if turn.options.scripted:  # a program may ask for the same again and again
        return turn
    call_state = next(
        call_state for call_state in turn.call_states if call_state.call.id == event.call
    )
    failing = dict(turn.failing)
    if event.outcome is Outcome.FAILED:
        failing[call_state.call.tool] = failing.get(call_state.call.tool, 0) + 1
    elif event.outcome is Outcome.OK:
        failing.pop(call_state.call.tool, None)
    turn = replace(turn, failing=failing)
    if event.pending:
        return turn
    name = _name(call_state.call, event)
    known = next((each for each in turn.seen if each.name == name), None)
    started = call_state.stage in (Stage.STARTED, Stage.DEFERRED)
    changed = started and call_state.effect is not Effect.READ and event.outcome is Outcome.OK
    changes = turn.changes + int(changed and known is None)
    # What was changed since it was last made is a reason to make it again.
    count = 1
    if known is not None and known.changes == changes:  # calls of one answer knew no result yet
        count = known.count + int(known.step != turn.steps)
    others = [each for each in turn.seen if each.name != name]
    seen = (*others, SeenCall(name, count, changes, turn.steps))[-SEEN_MAX:]
    repeated = call_state.call.tool if count >= TIMES_MAX else turn.repeated
    return replace(turn, seen=seen, changes=changes, repeated=repeated)


def with_remark(session: Session, event: e.Event) -> e.Event:
    """Return the event with what the model should be told behind the result, before it is kept."""
    turn = session.turn
    if not isinstance(event, e.CallEnded) or turn is None or turn.id != event.turn:
        return event
    known = any(call_state.call.id == event.call for call_state in turn.call_states)
    if not known or turn.options.scripted:
        return event
    tool = next(
        call_state.call.tool for call_state in turn.call_states if call_state.call.id == event.call
    )
    after = with_call(turn, event)
    before = {each.name: each.count for each in turn.seen}
    last = after.seen[-1] if after.seen and not event.pending else None
    count = last.count if last is not None and last.count > before.get(last.name, 0) else 1
    failures = after.failing.get(tool, 0) if event.outcome is Outcome.FAILED else 0
    said: list[str] = []
    if count > 1:
        said.append(AGAIN if count < TIMES_MAX else LAST.format(count))
    if failures and failures % FAILURES_TOLD == 0 and count < TIMES_MAX:
        said.append(FAILING.format(tool, failures))
    return replace(event, remark="\n".join(said)) if said else event


def stuck(turn: Turn) -> str:
    """Say why a turn that goes in circles ends; empty while it does not."""
    if not turn.repeated:
        return ""
    return (
        f"I stopped because I made the same call of {turn.repeated} {TIMES_MAX} times and got the "
        "same result each time. Tell me what to try instead, or write “continue” to go on."
    )


def _name(call: Call, event: e.CallEnded) -> str:
    """Equal for equal calls with equal results. Where a result names its own call, that is left
    out."""
    try:
        arguments = canonical(call.arguments)
    except (msgspec.MsgspecError, ValueError):
        arguments = call.arguments
    parts = [call.tool, arguments, event.outcome.value, event.text.replace(event.call, "")]
    return blake2b(msgspec.json.encode(parts), digest_size=12).hexdigest()
