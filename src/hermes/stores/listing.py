"""Rows of listings as both stores select them, in one order of columns."""

from typing import Any

from hermes.core.ids import SessionId, SessionKey, TurnId
from hermes.core.projection import TurnRow
from hermes.core.store import SessionRow


def session_row(*row: Any) -> SessionRow:
    key, id_, phase, mark, runs, waiting, title, created_at, updated_at, head, lines = row
    return SessionRow(
        key=SessionKey(key),
        id=SessionId(id_),
        phase=phase,
        mark=mark,
        runs=runs,
        waiting=waiting,
        title=title,
        created_at=created_at,
        updated_at=updated_at,
        events=head,
        rows=lines,
    )


def turn_row(*row: Any) -> TurnRow:
    id_, key, session, state, attempts, started_at, ended_at, first = row
    return TurnRow(
        id=TurnId(id_),
        key=SessionKey(key),
        session=SessionId(session),
        state=state,
        attempts=attempts,
        started_at=started_at,
        ended_at=ended_at,
        first=first,
    )
