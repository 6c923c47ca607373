"""Describe a session to a chat that opens it. Reads only."""

from collections.abc import Sequence

from msgspec.structs import replace

from hermes.core.channel import Command
from hermes.core.errors import Refused, RowUnreadable
from hermes.core.events import Span
from hermes.core.ids import SessionKey
from hermes.core.messages import Line
from hermes.core.session import Running, Session, Waiting
from hermes.core.store import ConversationRow, Store
from hermes.views.scene import Offered, Scene, offered

RECENT_MAX, ROWS_MAX = 200, 500
TEXT_CHARS_MAX = 20_000  # of one row: what is longer is looked up, not shown at an opening


async def scene(store: Store, key: SessionKey, recent: int) -> Scene:
    session = await _session(store, key)
    counts = await store.library.counts()
    spent = await store.library.spent(since=0.0, key=key, conversation=session.id)
    return Scene(
        id=session.id,
        head=session.position,
        title=session.facts.title,
        phase=session.phase_name,
        since=await _since(store, session),
        model=session.facts.model,
        filled=session.filled,
        waiting=sum(inbound.settles is None for inbound in session.waiting),
        asking=counts.asking,
        spent=tuple(spent),
        recent=await _recent(store, session, min(recent, RECENT_MAX)),
    )


async def _session(store: Store, key: SessionKey) -> Session:
    """Show a session that cannot be read as empty; a message there is answered with the way out."""
    try:
        return await store.journal.load(key)
    except (RowUnreadable, Refused):
        row = await store.library.find(key)
        return Session(key=key, position=row.events if row is not None else 0)


def listed(commands: Sequence[Command]) -> tuple[Offered, ...]:
    return tuple(offered(command) for command in commands)


async def conversations(
    store: Store, key: SessionKey | None, limit: int
) -> tuple[ConversationRow, ...]:
    return tuple(await store.library.conversations(key, limit=max(1, min(limit, ROWS_MAX))))


async def _since(store: Store, session: Session) -> int | None:
    """Return when the open turn began; a parked turn counts as none."""
    if not isinstance(session.phase, Running | Waiting):
        return None
    row = await store.library.turn(session.phase.turn.id)
    return row.first - 1 if row is not None else None


async def _recent(store: Store, session: Session, rows: int) -> tuple[Line, ...]:
    """Return the latest rows of the conversation and of the one it was resumed from, without those
    of the open turn: its events are sent and say more."""
    if not rows or not session.id:
        return ()
    turn = session.turn if isinstance(session.phase, Running | Waiting) else None
    spans = [Span(session.id, max(0, session.rows - rows), session.rows)]
    room = rows - session.rows
    for span in reversed([each for each in session.view.spans if each.session != session.id]):
        stop = span.stop or 0  # of a conversation that is over
        if room <= 0:
            break
        spans.insert(0, Span(span.session, max(span.start, stop - room), stop))
        room -= stop - span.start
    lines = await store.journal.lines(spans)
    return tuple(_short(line) for line in lines if turn is None or line.turn != turn.id)


def _short(line: Line) -> Line:
    bare = replace(line, thoughts=())
    long = len(line.text) > TEXT_CHARS_MAX
    return replace(bare, text=f"{line.text[:TEXT_CHARS_MAX]}…") if long else bare
