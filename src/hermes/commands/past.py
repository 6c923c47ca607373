"""Rebuild what a model last read in a conversation that is over, from its session's events."""

from collections.abc import Iterable

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.channel import CommandContext
from hermes.core.errors import Rejected
from hermes.core.ids import SessionId
from hermes.core.provenance import labelled, read_with
from hermes.core.session import Session
from hermes.core.store import ConversationRow

EVENTS_MAX = 20_000  # latest events of a session; older ones are not read
SPANS_MAX = 200  # each piece is read separately
UNKNOWN = ("private", "untrusted")  # assumed when it is no longer known what was read


async def last_view(session: Session, row: ConversationRow, context: CommandContext) -> e.View:
    """Return the last view, with undone, summarised and resumed parts; otherwise a view of all
    rows."""
    if row.id == session.id:
        return closed(session.view, session.id, session.rows)
    after = max(0, session.position - EVENTS_MAX)
    events = await context.store.library.events(session.key, after=after, limit=EVENTS_MAX)
    view = view_at_the_end(events, row.id) or e.View((e.Span(row.id),), labels=UNKNOWN)
    view = closed(view, row.id, row.rows)
    demand_few_pieces(view)
    return view


def demand_few_pieces(view: e.View) -> None:
    if len(view.spans) > SPANS_MAX:
        raise Rejected("This conversation is in too many pieces. Begin a new one with /new.")


def view_at_the_end(events: Iterable[e.Event], conversation: SessionId) -> e.View | None:
    """Return the last view; None if the conversation does not begin in these events."""
    current, view = SessionId(""), e.View()
    for event in events:
        match event:
            case e.MessageReceived(opens=opens, inbound=inbound) if not current:
                current, view = opens, read_with(e.View((e.Span(opens),)), (inbound,))
            case e.SessionReset(opens=opens, view=began):
                if current == conversation:
                    return view
                current = opens
                view = replace(began, spans=(*began.spans, e.Span(opens)))
            case e.ViewChanged(view=changed):
                view = changed
            case e.Compacted(view=summed_up):
                view = labelled(summed_up, view.labels)
            case e.MessageReceived(inbound=inbound):
                view = read_with(view, (inbound,))
            case e.CallEnded(labels=labels) | e.PromptMade(labels=labels):
                view = labelled(view, labels)
            case _:
                continue
    return view if current == conversation else None


def closed(view: e.View, conversation: SessionId, rows: int) -> e.View:
    """Return the view with its open span closed: the conversation gets no more rows."""
    spans = (
        replace(span, stop=rows) if span.session == conversation and span.stop is None else span
        for span in view.spans
    )
    return replace(view, spans=tuple(s for s in spans if s.stop is None or s.start < s.stop))
