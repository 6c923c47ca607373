"""Commands about the running turn: stop it, steer it, queue a message after it."""

import re
from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace

from hermes.core.channel import Command, CommandCall, CommandResult
from hermes.core.draft import in_place_of_draft
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
from hermes.core.people import Role, sender_of
from hermes.core.rules import Busy
from hermes.core.session import Running, Suspended, Turn, Waiting, ref
from hermes.core.step import command_name

STOPPED = "Stopped."
NOTHING_RUNS = "Nothing is running."
OTHER_TURN = "That turn is not running any more."
QUEUED = "Queued."
NOT_YOUR_TURN = "This turn is not yours to steer. I will answer you when it is done."
TURN_ID = re.compile(r"(?=\S*\d)\S+")  # one word with a digit; `/stop now` names no turn


def open_turn(call: CommandCall) -> Turn | None:
    """Return the turn that is running or waiting for an answer; a suspended one is not open."""
    phase = call.session.phase
    return phase.turn if isinstance(phase, Running | Waiting) else None


def interrupted(call: CommandCall, why: Literal["stopped", "reset"]) -> tuple[TurnInterrupted, ...]:
    turn = open_turn(call)
    return () if turn is None else (TurnInterrupted(turn.id, why, call.at, call.reached),)


def last_words(call: CommandCall, text: str) -> tuple[Reply, ...]:
    """Return the last reply of a stopped turn; it replaces the draft that was shown (C54)."""
    turn, said = open_turn(call), call.reply(text)
    if turn is None or not (turn.draft or turn.unseen):
        return (said,)
    if turn.address == call.inbound.address:
        return (in_place_of_draft(turn, said),)
    there = replace(call.reply(text, 1), address=turn.address)
    return (said, in_place_of_draft(turn, there))


def _stop(call: CommandCall) -> CommandResult:
    """Stop the open turn. If a different turn was named, do nothing (C18)."""
    turn = open_turn(call)
    named = call.argument if TURN_ID.fullmatch(call.argument) else ""
    if named and (turn is None or turn.id != named):
        return CommandResult(replies=(call.reply(OTHER_TURN),))
    if turn is None:
        return _stop_beside(call)
    return CommandResult(events=interrupted(call, "stopped"), replies=last_words(call, STOPPED))


def _stop_beside(call: CommandCall) -> CommandResult:
    """Stop a compaction, the only work outside of a turn."""
    session = call.session
    if session.compaction.wanted is None:
        return CommandResult(replies=(call.reply(NOTHING_RUNS),))
    stopped = CompactionFailed(session.viewed_at, "You stopped it.", call.at, call.at)
    return CommandResult(events=(stopped,), replies=(call.reply(STOPPED),))


def _stop_and_reset(call: CommandCall) -> CommandResult:
    """Stop the turn and start clean, for `sessions.on_stop: reset`; the conversation is kept
    (C17)."""
    obeyed = _stop(call)
    if open_turn(call) is None:
        return obeyed
    parked = SessionSuspended("you stopped it", call.at)
    return CommandResult(events=(*obeyed.events, parked), replies=obeyed.replies)


def _steer(call: CommandCall) -> CommandResult:
    turn = open_turn(call)
    if not call.argument:
        return CommandResult(replies=(call.reply("Add the text: /steer TEXT"),))
    sender = sender_of(call.inbound)
    text = call.argument if sender.is_alone else f"{_named(call)}: {call.argument}"
    if turn is None or call.role > call.role_of_turn:
        # The turn ended meanwhile, or belongs to someone else: make it an ordinary message.
        id_ = MessageId(f"{call.inbound.id}/said")
        said = replace(call.inbound, id=id_, text=text, waits=True)
        received = MessageReceived(said, call.session.id)
        told = () if turn is None else (call.reply(NOT_YOUR_TURN),)
        return CommandResult(events=(received,), replies=told)
    steered = TurnSteered(turn.id, ref(call.inbound), text, call.at)
    return CommandResult(events=(steered,), replies=(call.reply("Noted for the next step."),))


def _named(call: CommandCall) -> str:
    who = call.inbound.sender
    return f"{who.name} ({who.id})" if who.name else who.id


def _queue(call: CommandCall, is_command: Callable[[str], bool]) -> CommandResult:
    """Turn the text into a message that neither interrupts nor steers."""
    if not call.argument:
        return CommandResult(replies=(call.reply("Add the text: /queue TEXT"),))
    id_ = MessageId(f"{call.inbound.id}/queued")
    queued = replace(call.inbound, id=id_, text=call.argument, waits=True)
    if is_command(command_name(queued)):
        return CommandResult(
            replies=(call.reply("Commands cannot be queued. Send the command directly."),)
        )
    received = MessageReceived(queued, call.session.id)
    if open_turn(call) is None:
        return CommandResult(events=(received,))
    told = PersonTold(call.at, messages=(ref(queued),))
    return CommandResult(events=(received, told), replies=(call.reply(QUEUED),))


def _suspend(call: CommandCall) -> CommandResult:
    if isinstance(call.session.phase, Suspended):
        return CommandResult(replies=(call.reply("It is already suspended."),))
    suspended = SessionSuspended("its owner suspended it", call.at)
    return CommandResult(events=(suspended,), replies=(call.reply("Suspended."),))


def turn_commands(
    on_stop: Literal["keep", "reset"], is_command: Callable[[str], bool]
) -> tuple[Command, ...]:
    return (
        Command(
            name="/stop",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="Stop the running turn, or the one you name",
            run=_stop if on_stop == "keep" else _stop_and_reset,
            argument="[TURN]",
        ),
        Command(
            name="/steer",
            least=Role.MEMBER,
            busy=Busy.BETWEEN,
            summary="Add a note to the running turn without stopping it",
            run=_steer,
            argument="TEXT",
        ),
        Command(
            name="/queue",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="Send a message that waits until the running turn is done",
            run=lambda call: _queue(call, is_command),
            argument="TEXT",
        ),
        Command(
            name="/suspend",
            busy=Busy.NOW,
            summary="Suspend this conversation; the next message begins a new one",
            run=_suspend,
        ),
    )
