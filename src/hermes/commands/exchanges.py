"""`/retry` and `/undo`: the last exchange is not read any more. No row is touched or lost.

An exchange is all that one turn wrote: what the person said, also while it ran, and what came of
it. What other conversations sent into the chat meanwhile belongs to no exchange and stays.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hermes.commands.past import demand_few_pieces
from hermes.commands.turns import open_turn
from hermes.commands.words import quoted
from hermes.core.channel import Command, Desk, Obeyed, Order
from hermes.core.errors import Rejected
from hermes.core.events import MessageReceived, Span, TurnResumed, View, ViewChanged
from hermes.core.ids import MessageId, SessionId
from hermes.core.messages import Line
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.core.session import Asking, Session, Suspended
from hermes.core.transcript import RELAYED

NOTHING_SAID = "There is nothing to go back to here."
STOP_FIRST = "A turn is running. /stop it first."
ANSWER_FIRST = "A question waits for you. Answer it (/approve or /deny) or /stop first."
IS_PARKED = "This conversation is parked. /retry tries its last request again, /resume goes back."
STAYS_DONE = " What was done for it stays done."


class Shorter(Struct, frozen=True, kw_only=True):
    """A view without the last exchange, and what the person had said in it."""

    view: View
    said: Line
    worked: bool  # tools were used


class _Row(Struct, frozen=True):
    conversation: SessionId
    ordinal: int
    line: Line


def without_last_exchange(session: Session, lines: Sequence[Line]) -> Shorter | None:
    """`lines` are those of the session's view. None when the person said nothing in them."""
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
    """The lines with their places. Raises Rejected when they are not those of the view."""
    places = [
        (span.session, ordinal)
        for span in session.view.spans
        for ordinal in range(span.start, _stop(session, span))
    ]
    if len(places) != len(lines):
        raise Rejected("This conversation just changed. Please say that again.")
    return [_Row(*place, line) for place, line in zip(places, lines, strict=True)]


def _stop(session: Session, span: Span) -> int:
    if span.stop is None and span.session != session.id:
        raise Rejected("This conversation reads on in another one. Begin a new one with /new.")
    return session.rows if span.stop is None else span.stop


def _last_exchange(rows: list[_Row]) -> list[_Row]:
    """Rows of the last turn; where a client carried them here without one, from what was said
    last."""
    rows = [row for row in rows if RELAYED not in row.line.labels]
    if not rows:
        return []
    turn = rows[-1].line.turn
    if turn:
        return [row for row in rows if row.line.turn == turn]
    said = [place for place, row in enumerate(rows) if row.line.role == "user"]
    return rows[said[-1] :] if said else []


def _parts(span: Span, gone: set[tuple[SessionId, int]]) -> Iterator[Span]:
    """What is left of a span. One that grows still grows."""
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


async def _shorter(order: Order, desk: Desk) -> Shorter | None:
    """Raises Rejected when it cannot be made shorter now."""
    if isinstance(order.session.phase, Asking):
        raise Rejected(ANSWER_FIRST)
    if open_turn(order) is not None:
        raise Rejected(STOP_FIRST)
    lines = await desk.store.journal.lines(order.session.view.spans)
    shorter = without_last_exchange(order.session, lines)
    if shorter is not None:
        demand_few_pieces(shorter.view)
    return shorter


async def _retry(order: Order, desk: Desk) -> Obeyed:
    phase = order.session.phase
    if isinstance(phase, Suspended) and phase.turn is not None:
        return Obeyed(events=(TurnResumed(phase.turn.id, order.epoch, order.at),))
    shorter = await _shorter(order, desk)
    if shorter is None:
        return Obeyed(replies=(order.reply(NOTHING_SAID),))
    again = replace(
        order.inbound,
        id=MessageId(f"{order.inbound.id}/retry"),
        text=shorter.said.text,
        media=shorter.said.media,
        labels=shorter.said.labels,
        waits=True,
        before=(),
    )
    changed = ViewChanged(shorter.view, "asked again by /retry", order.at)
    told = order.reply(f"Once more: {quoted(shorter.said.text)}")
    return Obeyed(events=(changed, MessageReceived(again, order.session.id)), replies=(told,))


async def _undo(order: Order, desk: Desk) -> Obeyed:
    if isinstance(order.session.phase, Suspended):
        return Obeyed(replies=(order.reply(IS_PARKED),))
    shorter = await _shorter(order, desk)
    if shorter is None:
        return Obeyed(replies=(order.reply(NOTHING_SAID),))
    changed = ViewChanged(shorter.view, "taken back by /undo", order.at)
    text = f"Taken back: {quoted(shorter.said.text)}." + STAYS_DONE * shorter.worked
    return Obeyed(events=(changed,), replies=(order.reply(text),))


EXCHANGE_COMMANDS = (
    Command(
        name="/retry",
        least=Role.MEMBER,
        busy=Busy.NOW,
        summary="Ask again what you said last, or go on with a parked turn",
        look=_retry,
    ),
    Command(
        name="/undo",
        least=Role.MEMBER,
        busy=Busy.NOW,
        summary="Take back what you said last, and the answer to it",
        look=_undo,
    ),
)
