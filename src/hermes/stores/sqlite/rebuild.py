"""Make the projections anew from the journal, in one transaction.

People, invites, requests, grants and the audit log are left alone: what was revoked, and by whom,
stands in no journal.
"""

import apsw

from hermes.core.ids import SessionKey
from hermes.core.projection import commit_of, summary_of
from hermes.core.session import Session
from hermes.stores.sqlite.chains import Scroll, events_after
from hermes.stores.sqlite.directory import rebuild_directory
from hermes.stores.sqlite.journal import add_turns, is_busy
from hermes.stores.sqlite.questions import add_questions
from hermes.stores.sqlite.reader import rows
from hermes.stores.sqlite.search import forget_index
from hermes.stores.sqlite.usage import add_usage

REBUILT = """
UPDATE sessions SET conversation = ?, row_tail = ?, row_at = ?, id = ?,
    phase = ?, mark = ?, runs = ?, title = ?, rows = ?, waiting = ?, busy = ?
WHERE n = ?
"""


def rebuild_all(db: apsw.Cursor) -> None:
    for table in ("messages", "turns", "conversations", "tool_calls", "questions"):
        db.execute(f"DELETE FROM {table}")
    db.execute("DELETE FROM usage WHERE session <> 0")  # of deleted ones nothing else tells
    for number, key in rows(db, "SELECT n, key FROM sessions ORDER BY n"):
        _rebuild(db, number, SessionKey(key))
    rebuild_directory(db)
    forget_index(db)


def _rebuild(db: apsw.Cursor, number: int, key: SessionKey) -> None:
    session, scroll = Session(key=key), Scroll(number)
    for event in events_after(db, number, 0):
        commit = commit_of(session, (event,))
        add_turns(db, number, commit, shift=0)
        add_usage(db, number, commit, session.position)
        add_questions(db, number, commit)
        scroll.write(db, commit)
        session = commit.after
    s, waiting = summary_of(session), len(session.waiting)
    shown = (s.id, s.phase, s.mark, s.runs, s.title, s.rows, waiting, is_busy(s.phase, waiting))
    db.execute(REBUILT, (scroll.conversation, scroll.tail, scroll.at, *shown, number))
