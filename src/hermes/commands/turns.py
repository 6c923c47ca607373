"""Commands about the turn that runs: stop it, tell it something, put a message behind it."""

import re
from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from hermes.core.channel import Command, Obeyed, Order
from hermes.core.events import (
    CompactionFailed,
    MessageReceived,
    PersonTold,
    SessionSuspended,
    TurnInterrupted,
    TurnSteered,
)
from hermes.core.ids import MessageId
from hermes.core.messages import Reply
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.core.session import Asking, Running, Suspended, Turn, ref
from hermes.core.step import command_name

STOPPED = "Stopped."
NOTHING_RUNS = "Nothing is running."
OTHER_TURN = "That turn is not running any more."
QUEUED = "Queued."
TURN_ID = re.compile(r"(?=\S*\d)\S+")  # one word with a digit; `/stop now` names no turn


def open_turn(order: Order) -> Turn | None:
    """The turn that runs or waits for an answer; a parked one is not open."""
    phase = order.session.phase
    return phase.turn if isinstance(phase, Running | Asking) else None


def interrupted(order: Order, why: Literal["stopped", "reset"]) -> tuple[TurnInterrupted, ...]:
    turn = open_turn(order)
    return () if turn is None else (TurnInterrupted(turn.id, why, order.at, order.reached),)


def last_words(order: Order, text: str) -> tuple[Reply, ...]:
    """Said in the place of what is shown of an answer that will not come (C54)."""
    turn, said = open_turn(order), order.reply(text)
    if turn is None or not turn.draft:
        return (said,)
    if turn.address == order.inbound.address:
        return (replace(said, replaces=turn.draft),)
    there = replace(order.reply(text, 1), address=turn.address, replaces=turn.draft)
    return (said, there)


def _stop(order: Order) -> Obeyed:
    """For a turn that was named, and is another one, nothing happens (C18)."""
    turn = open_turn(order)
    named = order.argument if TURN_ID.fullmatch(order.argument) else ""
    if named and (turn is None or turn.id != named):
        return Obeyed(replies=(order.reply(OTHER_TURN),))
    if turn is None:
        return _stop_beside(order)
    return Obeyed(events=interrupted(order, "stopped"), replies=last_words(order, STOPPED))


def _stop_beside(order: Order) -> Obeyed:
    """Outside of a turn only a compaction can be under way."""
    session = order.session
    if session.compaction.wanted is None:
        return Obeyed(replies=(order.reply(NOTHING_RUNS),))
    stopped = CompactionFailed(session.viewed_at, "you stopped it.", order.at, order.at)
    return Obeyed(events=(stopped,), replies=(order.reply(STOPPED),))


def _stop_and_reset(order: Order) -> Obeyed:
    """`sessions.on_stop: reset`: what follows starts clean; the old conversation is kept (C17)."""
    obeyed = _stop(order)
    if open_turn(order) is None:
        return obeyed
    parked = SessionSuspended("you stopped it", order.at)
    return Obeyed(events=(*obeyed.events, parked), replies=obeyed.replies)


def _steer(order: Order) -> Obeyed:
    turn = open_turn(order)
    if not order.argument:
        return Obeyed(replies=(order.reply("Say what to keep in mind: /steer TEXT"),))
    if turn is None:  # perhaps it ended meanwhile: what was said is not lost
        id_ = MessageId(f"{order.inbound.id}/said")
        said = replace(order.inbound, id=id_, text=order.argument)
        return Obeyed(events=(MessageReceived(said, order.session.id),))
    steered = TurnSteered(turn.id, ref(order.inbound), order.argument, order.at)
    return Obeyed(events=(steered,), replies=(order.reply("Noted for the next step."),))


def _queue(order: Order, is_command: Callable[[str], bool]) -> Obeyed:
    """The text becomes a message that neither interrupts nor steers."""
    if not order.argument:
        return Obeyed(replies=(order.reply("Say what comes next: /queue TEXT"),))
    id_ = MessageId(f"{order.inbound.id}/queued")
    queued = replace(order.inbound, id=id_, text=order.argument, waits=True)
    if is_command(command_name(queued)):
        return Obeyed(replies=(order.reply("A command does not queue; send it by itself."),))
    received = MessageReceived(queued, order.session.id)
    if open_turn(order) is None:
        return Obeyed(events=(received,))
    told = PersonTold(order.at, messages=(ref(queued),))
    return Obeyed(events=(received, told), replies=(order.reply(QUEUED),))


def _suspend(order: Order) -> Obeyed:
    if isinstance(order.session.phase, Suspended):
        return Obeyed(replies=(order.reply("Suspended already."),))
    suspended = SessionSuspended("it was suspended by its owner", order.at)
    return Obeyed(events=(suspended,), replies=(order.reply("Suspended."),))


def turn_commands(
    on_stop: Literal["keep", "reset"], is_command: Callable[[str], bool]
) -> tuple[Command, ...]:
    return (
        Command(
            name="/stop",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="Stop the running turn, or only the one that is named",
            run=_stop if on_stop == "keep" else _stop_and_reset,
            argument="[TURN]",
        ),
        Command(
            name="/steer",
            least=Role.MEMBER,
            busy=Busy.BETWEEN,
            summary="Tell the running turn something without stopping it",
            run=_steer,
            argument="TEXT",
        ),
        Command(
            name="/queue",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="Say something for when the running turn is done",
            run=lambda order: _queue(order, is_command),
            argument="TEXT",
        ),
        Command(
            name="/suspend",
            busy=Busy.NOW,
            summary="Park this conversation; the next message begins a new one",
            run=_suspend,
        ),
    )
