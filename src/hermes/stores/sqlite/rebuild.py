"""Rebuild the projections from the journal, in one transaction.

People, invites, requests, grants and the audit log are left alone: the journal does not record what
was revoked, or by whom.
"""

from contextlib import suppress

import apsw

from hermes.core.errors import Refused, RowUnreadable
from hermes.core.ids import SessionKey
from hermes.core.projection import at_of, commit_of, summary_of
from hermes.core.salvage import readable
from hermes.core.session import Session
from hermes.stores.sqlite.chains import Scroll, records_after
from hermes.stores.sqlite.directory import rebuild_directory
from hermes.stores.sqlite.jobs import rebuild_jobs
from hermes.stores.sqlite.journal import ABANDON_QUESTIONS, ABANDON_TURNS, add_turns, is_busy
from hermes.stores.sqlite.questions import add_questions
from hermes.stores.sqlite.reader import rows
from hermes.stores.sqlite.search import forget_index
from hermes.stores.sqlite.usage import add_usage

REBUILT = """
UPDATE sessions SET conversation = ?, row_tail = ?, row_at = ?, id = ?,
    phase = ?, mark = ?, runs = ?, title = ?, rows = ?, waiting = ?, busy = ?, due_at = ?
WHERE n = ?
"""


def rebuild_all(db: apsw.Cursor) -> None:
    for table in ("messages", "turns", "conversations", "tool_calls", "questions"):
        db.execute(f"DELETE FROM {table}")
    db.execute("DELETE FROM usage WHERE session <> 0")  # of deleted ones nothing else tells
    for number, key in rows(db, "SELECT n, key FROM sessions ORDER BY n"):
        _rebuild(db, number, SessionKey(key))
    rebuild_directory(db)
    rebuild_jobs(db)
    forget_index(db)


def _rebuild(db: apsw.Cursor, number: int, key: SessionKey) -> None:
    """Rebuild one session from its journal, as far as that can be read."""
    session, scroll = Session(key=key), Scroll(number)
    with suppress(RowUnreadable, Refused):
        for before, event, after in readable(session, records_after(db, number, 0)):
            if after.salvaged and not before.salvaged:
                db.execute(ABANDON_TURNS, (at_of(event), number))
                db.execute(ABANDON_QUESTIONS, (number,))
            commit = commit_of(before, (event,))
            add_turns(db, number, commit, shift=0)
            add_usage(db, number, commit, before.position)
            add_questions(db, number, commit)
            scroll.write(db, commit)
            session = after
    s, waiting = summary_of(session), len(session.waiting)
    busy = is_busy(s.phase, waiting)
    shown = (s.id, s.phase, s.mark, s.runs, s.title, s.rows, waiting, busy, s.due_at)
    db.execute(REBUILT, (scroll.conversation, scroll.tail, scroll.at, *shown, number))
