"""Commands that steer the conversation. Each says when it may run and what it makes true."""

from typing import Literal

from hermes.core.channel import Command, Obeyed, Order
from hermes.core.events import (
    QuestionAnswered,
    SessionReset,
    SessionSuspended,
    TurnInterrupted,
    TurnResumed,
    TurnSteered,
)
from hermes.core.session import Asking, Running, Suspended, ref
from hermes.core.step import Busy


def _new(order: Order) -> Obeyed:
    turn = order.session.turn
    open_ = turn is not None and not isinstance(order.session.phase, Suspended)
    stopped = (TurnInterrupted(turn.id, "reset", order.at),) if turn and open_ else ()
    reset = SessionReset(order.new_session(), "asked for by /new", order.at)
    return Obeyed(events=(*stopped, reset), replies=(order.reply("A new conversation."),))


def _stop(order: Order) -> Obeyed:
    turn = order.session.turn
    if turn is None or isinstance(order.session.phase, Suspended):
        return Obeyed(replies=(order.reply("Nothing is running."),))
    stopped = TurnInterrupted(turn.id, "stopped", order.at, order.reached)
    return Obeyed(events=(stopped,), replies=(order.reply("Stopped."),))


def _stop_and_reset(order: Order) -> Obeyed:
    """`sessions.on_stop: reset`: what follows starts clean; the old conversation is kept (C17)."""
    obeyed = _stop(order)
    if not obeyed.events:
        return obeyed
    parked = SessionSuspended("you stopped it", order.at)
    return Obeyed(events=(*obeyed.events, parked), replies=obeyed.replies)


def _steer(order: Order) -> Obeyed:
    turn = order.session.turn
    if not order.argument:
        return Obeyed(replies=(order.reply("Say what to keep in mind: /steer TEXT"),))
    if turn is None or not isinstance(order.session.phase, Running):
        return Obeyed(replies=(order.reply("Nothing is running; just write it."),))
    steered = TurnSteered(turn.id, ref(order.inbound), order.argument, order.at)
    return Obeyed(events=(steered,), replies=(order.reply("Noted for the next step."),))


def _answer(order: Order, *, granted: bool) -> Obeyed:
    phase = order.session.phase
    if not isinstance(phase, Asking):
        return Obeyed(replies=(order.reply("Nothing waits for an answer."),))
    answered = QuestionAnswered(phase.turn.id, phase.call, granted, order.epoch, order.at)
    return Obeyed(events=(answered,))


def _retry(order: Order) -> Obeyed:
    phase = order.session.phase
    if not isinstance(phase, Suspended) or phase.turn is None:
        return Obeyed(replies=(order.reply("Nothing is parked here."),))
    return Obeyed(events=(TurnResumed(phase.turn.id, order.epoch, order.at),))


def _suspend(order: Order) -> Obeyed:
    if isinstance(order.session.phase, Suspended):
        return Obeyed(replies=(order.reply("Suspended already."),))
    suspended = SessionSuspended("it was suspended by its owner", order.at)
    return Obeyed(events=(suspended,), replies=(order.reply("Suspended."),))


def session_commands(on_stop: Literal["keep", "reset"] = "keep") -> tuple[Command, ...]:
    """What every chat understands."""
    stop = _stop if on_stop == "keep" else _stop_and_reset
    return (
        Command(name="/stop", busy=Busy.NOW, summary="Stop the running turn", run=stop),
        *_ALWAYS,
    )


_ALWAYS = (
    Command(name="/new", busy=Busy.NOW, summary="Start a new conversation", run=_new),
    Command(name="/reset", busy=Busy.NOW, summary="The same as /new", run=_new),
    Command(
        name="/steer",
        busy=Busy.NOW,
        summary="Tell the running turn something without stopping it",
        run=_steer,
        argument="TEXT",
    ),
    Command(
        name="/approve",
        busy=Busy.NOW,
        summary="Allow the call that waits for an answer",
        run=lambda order: _answer(order, granted=True),
    ),
    Command(
        name="/deny",
        busy=Busy.NOW,
        summary="Refuse the call that waits for an answer",
        run=lambda order: _answer(order, granted=False),
    ),
    Command(name="/retry", busy=Busy.NOW, summary="Try a parked turn once more", run=_retry),
    Command(name="/suspend", busy=Busy.NOW, summary="Park this session; it is kept", run=_suspend),
)
