"""`/retry` and `/undo`: leave the last exchange out of the view. No row is deleted.

An exchange is everything that one turn wrote: the person's messages, also those sent while it ran,
and the answer. Messages that other conversations sent into the chat are kept.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hermes.commands.past import demand_few_pieces
from hermes.commands.turns import open_turn
from hermes.commands.words import quoted
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.errors import Rejected
from hermes.core.events import MessageReceived, Span, TurnResumed, View, ViewChanged
from hermes.core.ids import MessageId, SessionId
from hermes.core.messages import Line
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.core.session import Session, Suspended, Waiting
from hermes.core.transcript import RELAYED

NOTHING_SAID = "There is nothing to go back to here."
STOP_FIRST = "A turn is running. Stop it first with /stop."
ANSWER_FIRST = "A question is waiting for you. Answer it first (/approve or /deny), or use /stop."
IS_PARKED = (
    "This conversation is suspended. /retry tries its last request again; /resume opens another."
)
STAYS_DONE = " This does not undo what its tools did."


class Shorter(Struct, frozen=True, kw_only=True):
    """A view without the last exchange, and the person's text in it."""

    view: View
    said: Line
    worked: bool  # the exchange used tools


class _Row(Struct, frozen=True):
    conversation: SessionId
    ordinal: int
    line: Line


def without_last_exchange(session: Session, lines: Sequence[Line]) -> Shorter | None:
    """Return the view without the last exchange; None if the person said nothing in it. `lines` are
    those of the session's view."""
    exchange = _last_exchange(_rows(session, lines))
    said = [row.line for row in exchange if row.line.role == "user"]
    if not said:
        return None
    gone = {(row.conversation, row.ordinal) for row in exchange}
    spans = tuple(part for span in session.view.spans for part in _parts(span, gone))
    if not any(span.session == session.id and span.stop is None for span in spans):
        spans = (*spans, Span(session.id, session.rows))
    return Shorter(
        view=replace(session.view, spans=spans),
        said=_joined(said),
        worked=any(row.line.role == "tool" for row in exchange),
    )


def _rows(session: Session, lines: Sequence[Line]) -> list[_Row]:
    """Pair the lines with their places in the view. Raise Rejected if the view changed
    meanwhile."""
    places = [
        (span.session, ordinal)
        for span in session.view.spans
        for ordinal in range(span.start, _stop(session, span))
    ]
    if len(places) != len(lines):
        raise Rejected("This conversation just changed. Please send that again.")
    return [_Row(*place, line) for place, line in zip(places, lines, strict=True)]


def _stop(session: Session, span: Span) -> int:
    if span.stop is None and span.session != session.id:
        raise Rejected("This conversation continues in another one. Start a new one with /new.")
    return session.rows if span.stop is None else span.stop


def _last_exchange(rows: list[_Row]) -> list[_Row]:
    """Return the rows of the last turn. If a client copied them here without a turn, return the
    rows from the last message of the person on."""
    rows = [row for row in rows if RELAYED not in row.line.labels]
    if not rows:
        return []
    turn = rows[-1].line.turn
    if turn:
        return [row for row in rows if row.line.turn == turn]
    said = [place for place, row in enumerate(rows) if row.line.role == "user"]
    return rows[said[-1] :] if said else []


def _parts(span: Span, gone: set[tuple[SessionId, int]]) -> Iterator[Span]:
    """Yield the parts of a span without the removed rows. An open span stays open."""
    start = span.start
    for ordinal in sorted(o for conversation, o in gone if conversation == span.session):
        if ordinal < start or (span.stop is not None and ordinal >= span.stop):
            continue
        if ordinal > start:
            yield Span(span.session, start, ordinal)
        start = ordinal + 1
    if span.stop is None or start < span.stop:
        yield Span(span.session, start, span.stop)


def _joined(said: Sequence[Line]) -> Line:
    return replace(
        said[0],
        text="\n\n".join(line.text for line in said if line.text.strip()),
        media=tuple(media for line in said for media in line.media),
        labels=tuple(dict.fromkeys(label for line in said for label in line.labels)),
    )


async def _shorter(call: CommandCall, context: CommandContext) -> Shorter | None:
    """Return the shortened view; None if there is no exchange. Raise Rejected while a turn is
    open."""
    if isinstance(call.session.phase, Waiting):
        raise Rejected(ANSWER_FIRST)
    if open_turn(call) is not None:
        raise Rejected(STOP_FIRST)
    lines = await context.store.journal.lines(call.session.view.spans)
    shorter = without_last_exchange(call.session, lines)
    if shorter is not None:
        demand_few_pieces(shorter.view)
    return shorter


async def _retry(call: CommandCall, context: CommandContext) -> CommandResult:
    phase = call.session.phase
    if isinstance(phase, Suspended) and phase.turn is not None:
        return CommandResult(events=(TurnResumed(phase.turn.id, call.epoch, call.at),))
    shorter = await _shorter(call, context)
    if shorter is None:
        return CommandResult(replies=(call.reply(NOTHING_SAID),))
    again = replace(
        call.inbound,
        id=MessageId(f"{call.inbound.id}/retry"),
        text=shorter.said.text,
        media=shorter.said.media,
        labels=shorter.said.labels,
        waits=True,
        before=(),
    )
    changed = ViewChanged(shorter.view, "asked again by /retry", call.at)
    told = call.reply(f"Trying again: {quoted(shorter.said.text)}")
    return CommandResult(events=(changed, MessageReceived(again, call.session.id)), replies=(told,))


async def _undo(call: CommandCall, context: CommandContext) -> CommandResult:
    if isinstance(call.session.phase, Suspended):
        return CommandResult(replies=(call.reply(IS_PARKED),))
    shorter = await _shorter(call, context)
    if shorter is None:
        return CommandResult(replies=(call.reply(NOTHING_SAID),))
    changed = ViewChanged(shorter.view, "undone by /undo", call.at)
    text = f"Undone: {quoted(shorter.said.text)}." + STAYS_DONE * shorter.worked
    return CommandResult(events=(changed,), replies=(call.reply(text),))


EXCHANGE_COMMANDS = (
    Command(
        name="/retry",
        least=Role.MEMBER,
        busy=Busy.NOW,
        summary="Send your last message again, or continue a suspended turn",
        run_async=_retry,
    ),
    Command(
        name="/undo",
        least=Role.MEMBER,
        busy=Busy.NOW,
        summary="Undo your last message and its answer",
        run_async=_undo,
    ),
)
