"""Shared by the sessions commands: a session for people and for programs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.cli.command import JsonOptions
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.output.times import iso
from hermes.core.errors import Refused, RowUnreadable
from hermes.core.session import Session
from hermes.core.store import SessionRow

if TYPE_CHECKING:
    from argparse import ArgumentParser


UNREADABLE = (
    "hermes: an event of {0} cannot be read ({1}). Send /new there to begin another conversation; "
    "this one is kept"
)
Whole = Session | RowUnreadable | Refused  # a session, or why it cannot be read


class SessionsListOptions(JsonOptions):
    limit: int
    children: bool


def name_argument(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "name", metavar="NAME", help="name, key or id of a session (see: hermes sessions list)"
    )


def state(row: SessionRow, session: Whole) -> str:
    """Return the phase; for an interrupted turn, that and why."""
    if not isinstance(session, Session):
        return "unreadable"
    name = f"resume_pending ({row.mark})" if row.mark else row.phase
    return f"{name}, {row.waiting} waiting" if row.waiting else name


def document(row: SessionRow, session: Whole) -> Mapping[str, object]:
    mark = session.mark if isinstance(session, Session) else None
    return {
        "name": session_name(row.key),
        "key": row.key,
        "id": row.id,
        "phase": row.phase,
        "resume_pending": bool(row.mark),
        "mark": row.mark,
        "marked_at": iso(mark.at) if mark is not None else None,
        "unreadable": "" if isinstance(session, Session) else str(session),
        "suspended": row.phase == "suspended",
        "runs": row.runs,
        "waiting": row.waiting,
        "title": row.title,
        "rows": row.rows,
        "events": row.events,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
    }
