"""A turn and the turns that worked for it, as a tree, made from the store."""

from collections.abc import Sequence

from msgspec import Struct

from hermes.core.child_sessions import CHILD, call_of_child, child_key
from hermes.core.events import MessageReceived, ModelAnswered
from hermes.core.ids import CallId, SessionKey, platform_of
from hermes.core.messages import Usage, together
from hermes.core.projection import TurnRow
from hermes.core.store import Store

PARTS_MAX = 16
EVENTS_MAX = 2_000
PHASES, ROWS_MAX = ("running", "asking"), 200
DEPTH_MAX = 4


class TurnFamily(Struct, frozen=True, kw_only=True):
    """One turn of a child session, and those that worked for it."""

    turn: TurnRow
    title: str
    usage: Usage
    call: CallId
    part: int = 0
    children: tuple["TurnFamily", ...] = ()


async def families_of(
    store: Store, calls: Sequence[CallId], depth: int = 0
) -> tuple[TurnFamily, ...]:
    """Return the turns that worked for these calls, in the order of the calls and their parts."""
    found: list[TurnFamily] = []
    for call in calls if depth < DEPTH_MAX else ():
        for part in range(PARTS_MAX + 1):
            rows = await store.library.turns(limit=1, key=child_key(call, part))
            if not rows and part:
                break
            found += [await _family(store, row, depth) for row in rows]
    return tuple(found)


async def children_of(store: Store, key: SessionKey) -> tuple[SessionKey, ...]:
    """Return the sessions that work for this one now, also in the background."""
    rows = [row for phase in PHASES for row in await store.library.in_phase(phase, limit=ROWS_MAX)]
    found = [await store.journal.load(row.key) for row in rows if platform_of(row.key) == CHILD]
    return tuple(s.key for s in found if s.turn is not None and s.turn.address.chat == key)


async def _family(store: Store, row: TurnRow, depth: int) -> TurnFamily:
    events = await store.library.events(row.key, limit=EVENTS_MAX)
    answers = [event for event in events if isinstance(event, ModelAnswered)]
    call, part = call_of_child(row.key) or (CallId(""), 0)
    delegated = [c.id for answer in answers for c in answer.calls if c.tool == DELEGATE]
    return TurnFamily(
        turn=row,
        title=next((title_of(e) for e in events if isinstance(e, MessageReceived)), ""),
        usage=together([answer.usage for answer in answers]),
        call=call,
        part=part,
        children=await families_of(store, delegated, depth + 1),
    )


DELEGATE = "delegate_task"  # the tool that begins child sessions by a model's wish


def title_of(event: MessageReceived) -> str:
    options = event.inbound.options
    return options.title if options is not None else ""


def short_id(key: SessionKey) -> str:
    """Return the end of a child's name: enough to tell it from its siblings."""
    return key.rpartition(":")[2][-SHORT_CHARS:]


SHORT_CHARS = 8
