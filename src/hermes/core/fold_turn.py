"""The open turn and the waiting messages of a session, for those who fold events into it."""

from msgspec.structs import replace

from hermes.core.errors import Refused
from hermes.core.fold_views import demand
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Inbound
from hermes.core.session import Running, Session, Stage, Turn, Waiting, ref, waits


def current_turn(session: Session, turn_id: TurnId) -> Turn:
    turn = session.turn
    if turn is None or turn.id != turn_id:
        raise Refused(f"turn {turn_id} is not open in {session.key}")
    return turn


def running_turn(session: Session, turn_id: TurnId) -> Turn:
    demand(isinstance(session.phase, Running), "the turn is not running")
    return current_turn(session, turn_id)


def open_turn(session: Session, turn_id: TurnId) -> Turn:
    demand(isinstance(session.phase, Running | Waiting), "the turn is not open")
    return current_turn(session, turn_id)


def resumed_by(session: Session, turn: Turn, epoch: int) -> Turn:
    """Give a turn that waited to the process that goes on with it."""
    return replace(turn, epoch=epoch) if epoch and isinstance(session.phase, Waiting) else turn


def with_turn(session: Session, turn: Turn) -> Session:
    """The turn waits as a whole when a call of it waits and none is at work."""
    at_work = any(
        call_state.stage in (Stage.ALLOWED, Stage.STARTED) for call_state in turn.call_states
    )
    parked = not at_work and any(map(waits, turn.call_states))
    phase = (Waiting if parked else Running)(turn, session.mark)
    return replace(session, phase=phase)


def moved(turn: Turn, call: CallId, from_: tuple[Stage, ...], **change: object) -> Turn:
    if not any(
        call_state.call.id == call and call_state.stage in from_ for call_state in turn.call_states
    ):
        raise Refused(f"call {call} cannot become {change['stage']}")
    call_states = tuple(replace(t, **change) if t.call.id == call else t for t in turn.call_states)
    return replace(turn, call_states=call_states)


def taken_messages(session: Session, messages: tuple[str, ...]) -> tuple[Inbound, ...]:
    taken = tuple(inbound for inbound in session.waiting if ref(inbound) in messages)
    demand(bool(messages) and len(taken) == len(messages), "a message is not waiting here")
    return taken


def without_messages(session: Session, messages: tuple[str, ...]) -> Session:
    """These messages wait no more."""
    waiting = tuple(inbound for inbound in session.waiting if ref(inbound) not in messages)
    told = tuple(message for message in session.told if message not in messages)
    return replace(session, waiting=waiting, told=told)
