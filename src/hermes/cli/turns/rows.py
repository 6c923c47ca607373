"""Shared by the turns commands: a turn for people and for programs."""

from collections.abc import Mapping, Sequence

from hermes.cli.lookup.store import events_of
from hermes.cli.output.times import iso, took
from hermes.core.events import Event, TurnEnded, TurnInterrupted
from hermes.core.projection import TurnRow
from hermes.core.store import Store


async def turn_events(store: Store, turn: TurnRow) -> Sequence[Event]:
    """Return the events from the turn's first to its last; events of others may stand between."""
    events: list[Event] = []
    async for event in events_of(store, turn.key, after=turn.first - 1):
        events.append(event)
        if isinstance(event, TurnEnded | TurnInterrupted) and event.turn == turn.id:
            break
    return events


def time_taken(turn: TurnRow) -> str:
    return took(turn.ended_at - turn.started_at) if turn.ended_at is not None else "still open"


def document(turn: TurnRow) -> Mapping[str, object]:
    return {
        "id": turn.id,
        "session": turn.key,
        "session_id": turn.session,
        "state": turn.state,
        "attempts": turn.attempts,
        "started_at": iso(turn.started_at),
        "ended_at": iso(turn.ended_at),
    }
