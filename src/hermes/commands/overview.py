"""`/status` and `/platforms`: how things are, in words."""

from collections.abc import Iterator
from typing import assert_never

from hermes.commands.elsewhere import by_owner
from hermes.commands.words import ago, counted, lasting, quoted
from hermes.core.channel import ChannelStatus, Command, Desk, Obeyed, Order, Status
from hermes.core.events import MarkReason
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.core.session import Asking, Idle, Running, Session, Suspended
from hermes.core.store import Counts

MARKS: dict[MarkReason, str] = {
    "restart_timeout": "a restart",
    "shutdown_timeout": "a shutdown",
    "restart_interrupted": "a crash",
}
NO_RESUMES = "After crashes in a row nothing goes on by itself; write in a chat to go on there."
NO_CHANNELS = "No platform is connected here."
PROBLEM_CHARS_MAX = 200


async def _status(order: Order, desk: Desk, default_model: str) -> Obeyed:
    """What goes on in other chats is the owner's to know."""
    status = await desk.status()
    lines = [
        f"Hermes {status.version} is {status.state}, up for {_up(status, order.at)}.",
        *([] if status.resumes else [NO_RESUMES]),
        *_here(order.session, order.at),
        f"Model: {order.session.facts.get('model') or default_model}",
    ]
    if by_owner(order):
        lines += _everywhere(status.running, status.counts, order.at)
        lines += (_in_short(channel) for channel in status.channels)
    return Obeyed(replies=(order.reply("\n".join(lines)),))


def _up(status: Status, now: float) -> str:
    return lasting(now - status.started_at)


def _here(session: Session, now: float) -> Iterator[str]:
    title = session.facts.get("title")
    name = f"This conversation, {quoted(title)}," if title else "This conversation"
    yield f"{name} has {counted(session.rows, 'message')}; {_phase(session, now)}."
    waiting = len(session.waiting) - 1  # the command itself waits, too, until it is done
    if waiting > 0:
        yield f"{counted(waiting, 'message')} {'waits' if waiting == 1 else 'wait'} here."
    if session.mark is not None:
        why = MARKS[session.mark.reason]
        yield f"Its turn was interrupted by {why} {ago(session.mark.at, now)}."


def _phase(session: Session, now: float) -> str:
    match session.phase:
        case Idle():
            return "nothing is running"
        case Running(turn=turn):
            return f"turn {turn.id} has been running for {lasting(now - turn.started_at)}"
        case Asking(turn=turn, asked_at=at):
            return f"turn {turn.id} has been waiting for an answer for {lasting(now - at)}"
        case Suspended(why=why):
            return f"it is parked: {why}"
        case _:
            assert_never(session.phase)


def _everywhere(running: int, counts: Counts, now: float) -> Iterator[str]:
    turns = counted(running, "turn")
    yield f"Everywhere: {turns} running, {counted(counts.queued, 'message')} queued."
    if counts.asking:
        yield f"{counted(counts.asking, 'question')} open."
    if interrupted := sum(counts.marks.values()):
        yield f"{counted(interrupted, 'turn')} interrupted, to be resumed."
    given_up = counts.outbox.get("abandoned", 0)
    to_send = sum(counts.outbox.values()) - given_up
    oldest = counts.outbox_oldest_at
    since = f", the oldest since {lasting(now - oldest)}" if to_send and oldest is not None else ""
    yield f"To be sent: {counted(to_send, 'reply', 'replies')}{since}."
    if given_up:
        yield f"Given up: {given_up}."


def _in_short(channel: ChannelStatus) -> str:
    return f"{channel.name}: {channel.state}{_problem(channel)}"


async def _platforms(order: Order, desk: Desk) -> Obeyed:
    status = await desk.status()
    lines = [_at_length(channel, order.at) for channel in status.channels]
    return Obeyed(replies=(order.reply("\n".join(lines or [NO_CHANNELS])),))


def _at_length(channel: ChannelStatus, now: float) -> str:
    told = [f"{channel.name}: {channel.state} for {lasting(now - channel.since)}"]
    if channel.state == "waiting":
        told.append("another node has the connection")
    if channel.last_inbound_at is None:
        told.append("no message yet")
    else:
        told.append(f"last message {ago(channel.last_inbound_at, now)}")
    if channel.last_poll_at is not None:
        told.append(f"last asked for news {ago(channel.last_poll_at, now)}")
    return f"{', '.join(told)}{_problem(channel)}"


def _problem(channel: ChannelStatus) -> str:
    return f" ({channel.problem[:PROBLEM_CHARS_MAX]})" if channel.problem else ""


def overview_commands(default_model: str) -> tuple[Command, ...]:
    return (
        Command(
            name="/status",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="Say how this conversation and the gateway are",
            look=lambda order, desk: _status(order, desk, default_model),
        ),
        Command(
            name="/platforms",
            busy=Busy.NOW,
            summary="Say which platforms are connected",
            look=_platforms,
        ),
    )
