"""`/status` and `/platforms`: the state of this chat and of the gateway, in words."""

from collections.abc import Iterator
from typing import assert_never

from hermes.commands.elsewhere import by_owner
from hermes.commands.words import ago, counted, lasting, quoted
from hermes.core.channel import (
    ChannelStatus,
    Command,
    CommandCall,
    CommandContext,
    CommandResult,
    GatewayStatus,
    ServiceStatus,
)
from hermes.core.events import MarkReason
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.core.session import Idle, Running, Session, Suspended, Waiting
from hermes.core.store import Counts

MARKS: dict[MarkReason, str] = {
    "restart_timeout": "a restart",
    "shutdown_timeout": "a shutdown",
    "restart_interrupted": "a crash",
}
NO_RESUMES = (
    "After several crashes, interrupted turns are not resumed automatically. "
    "Write in a chat to continue there."
)
NO_CHANNELS = "No platform is connected here."
PROBLEM_CHARS_MAX = 200


async def _status(call: CommandCall, context: CommandContext, default_model: str) -> CommandResult:
    """Describe the state. Only the owner is told about other chats."""
    status = await context.status()
    lines = [
        f"Hermes {status.version} is {status.state}, up for {_up(status, call.at)}.",
        *([] if status.resumes else [NO_RESUMES]),
        *_here(call.session, call.at),
        f"Model: {call.session.facts.model or default_model}",
    ]
    if by_owner(call):
        lines += _everywhere(status.running, status.counts, call.at)
        lines += (_in_short(channel) for channel in status.channels)
        lines += (f"Service {_in_short(service)}" for service in status.services)
    return CommandResult(replies=(call.reply("\n".join(lines)),))


def _up(status: GatewayStatus, now: float) -> str:
    return lasting(now - status.started_at)


def _here(session: Session, now: float) -> Iterator[str]:
    title = session.facts.title
    name = f"This conversation, {quoted(title)}," if title else "This conversation"
    yield f"{name} has {counted(session.rows, 'message')}; {_phase(session, now)}."
    waiting = len(session.waiting) - 1  # not counting this command
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
        case Waiting(turn=turn):
            asked = session.questions
            since = asked[0].asked_at if asked else turn.started_at
            what = "an answer" if asked else "a result"
            return f"turn {turn.id} has been waiting for {what} for {lasting(now - since)}"
        case Suspended(why=why):
            return f"it is suspended: {why}"
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
    yield f"Waiting to be sent: {counted(to_send, 'reply', 'replies')}{since}."
    if given_up:
        yield f"Given up: {given_up}."


def _in_short(channel: ChannelStatus | ServiceStatus) -> str:
    return f"{channel.name}: {channel.state}{_problem(channel)}"


async def _platforms(call: CommandCall, context: CommandContext) -> CommandResult:
    status = await context.status()
    lines = [_at_length(channel, call.at) for channel in status.channels]
    return CommandResult(replies=(call.reply("\n".join(lines or [NO_CHANNELS])),))


def _at_length(channel: ChannelStatus, now: float) -> str:
    told = [f"{channel.name}: {channel.state} for {lasting(now - channel.since)}"]
    if channel.state == "waiting":
        told.append("another node holds the connection")
    if channel.last_inbound_at is None:
        told.append("no message yet")
    else:
        told.append(f"last message {ago(channel.last_inbound_at, now)}")
    if channel.last_poll_at is not None:
        told.append(f"last poll {ago(channel.last_poll_at, now)}")
    return f"{', '.join(told)}{_problem(channel)}"


def _problem(channel: ChannelStatus | ServiceStatus) -> str:
    return f" ({channel.problem[:PROBLEM_CHARS_MAX]})" if channel.problem else ""


def overview_commands(default_model: str) -> tuple[Command, ...]:
    return (
        Command(
            name="/status",
            least=Role.MEMBER,
            busy=Busy.NOW,
            summary="Show the state of this conversation and of the gateway",
            run_async=lambda call, context: _status(call, context, default_model),
        ),
        Command(
            name="/platforms",
            busy=Busy.NOW,
            summary="Show which platforms are connected",
            run_async=_platforms,
        ),
    )
