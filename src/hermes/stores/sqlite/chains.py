"""Events and rows as linked lists in the file: appended at its end, read from the tail back."""

from collections.abc import Sequence
from itertools import zip_longest

import apsw
from msgspec import Struct

from hermes.core.codec import decode_event, decode_line, encode
from hermes.core.events import Event, Span
from hermes.core.ids import SessionId
from hermes.core.messages import Line
from hermes.core.projection import Commit, Written
from hermes.stores.listing import titles_of
from hermes.stores.sqlite.reader import rows

ADD_EVENT = """
INSERT INTO journal (prev, session, position, kind, event, at) VALUES (?, ?, ?, ?, ?, ?)
"""
EVENTS = """
WITH RECURSIVE chain (n, prev, position, event) AS (
    SELECT n, prev, position, event FROM journal
    WHERE n = (SELECT tail FROM sessions WHERE n = :session) AND position > :after
    UNION ALL
    SELECT j.n, j.prev, j.position, j.event FROM chain JOIN journal j ON j.n = chain.prev
    WHERE j.position > :after
)
SELECT event FROM chain ORDER BY position
"""
ADD_ROW = "INSERT INTO messages (prev, conversation, ordinal, line) VALUES (?, ?, ?, ?)"
ADD_CONVERSATION = """
INSERT INTO conversations (id, session) VALUES (?, ?)
ON CONFLICT (id) DO UPDATE SET session = excluded.session RETURNING n, tail, at
"""
END_CONVERSATION = """
UPDATE conversations SET tail = ?, title = coalesce(?, s.title), at = coalesce(?, s.row_at)
FROM (SELECT title, row_at FROM sessions WHERE n = ?) AS s WHERE n = ?
"""
OPENING = "UPDATE conversations SET opening = ? WHERE n = ? AND opening = 0"
ROWS = """
WITH RECURSIVE chain (n, prev, ordinal, line) AS (
    SELECT n, prev, ordinal, line FROM messages WHERE ordinal >= :start AND n = (
        SELECT CASE WHEN s.conversation = c.n THEN s.row_tail ELSE c.tail END
        FROM conversations c JOIN sessions s ON s.n = c.session WHERE c.id = :id)
    UNION ALL
    SELECT m.n, m.prev, m.ordinal, m.line FROM chain JOIN messages m ON m.n = chain.prev
    WHERE m.ordinal >= :start
)
SELECT line FROM chain WHERE ordinal < :stop ORDER BY ordinal
"""
ORDINAL_MAX = 2**62


class Scroll(Struct):
    """The position at which a session's rows are written: its conversation, and the last row in
    it."""

    session: int
    id: str = ""
    conversation: int = 0
    tail: int = 0
    title: str | None = None  # of that conversation; None: what the session's row says
    at: float | None = None  # of the last row; the same

    def write(self, db: apsw.Cursor, commit: Commit) -> None:
        """Write the commit's rows in order, each into its conversation."""
        ahead = self._ahead(commit) if commit.opens else []
        opened = 0
        for row in commit.rows:
            while ahead and row.session != self.id:
                self.turn_to(db, *ahead.pop(0))
            line = encode(row.line).decode()
            db.execute(ADD_ROW, (self.tail, self.conversation, row.ordinal, line))
            self.tail, self.at = db.connection.last_insert_rowid(), row.line.at
            if row.line.role == "user" and opened != self.conversation:
                opened = self.conversation
                db.execute(OPENING, (self.tail, opened))
        for id_, title in ahead:
            self.turn_to(db, id_, title)
        self.title = commit.summary.title

    def _ahead(self, commit: Commit) -> list[tuple[SessionId, str | None]]:
        """Return the conversations that the commit opens, with their titles. The one before may get
        its final title."""
        first, *later = titles_of(commit)
        if first is not None:
            self.title = first
        return list(zip_longest(commit.opens, later))

    def turn_to(self, db: apsw.Cursor, id_: str, title: str | None = None) -> None:
        """Make another conversation current. The one before keeps its end, title and time."""
        if self.conversation:
            ended = (self.tail, self.title, self.at, self.session, self.conversation)
            db.execute(END_CONVERSATION, ended)
        self.id, self.title = id_, title or ""
        found = rows(db, ADD_CONVERSATION, (id_, self.session))[0]
        self.conversation, self.tail, self.at = found


def add_event(db: apsw.Cursor, session: int, prev: int, position: int, event: Written) -> int:
    """Add an event. Return its row id, which the next event refers to."""
    values = (prev, session, position, event.kind, event.body, event.at)
    db.execute(ADD_EVENT, values)
    return db.connection.last_insert_rowid()


def events_after(db: apsw.Cursor, session: int, position: int) -> list[Event]:
    return [decode_event(raw) for raw in records_after(db, session, position)]


def records_after(db: apsw.Cursor, session: int, position: int) -> list[bytes]:
    """Return the events as they are stored. A row that was edited by hand may be text."""
    found = rows(db, EVENTS, {"session": session, "after": position})
    return [raw if isinstance(raw, bytes) else str(raw).encode() for (raw,) in found]


def read_lines(db: apsw.Cursor, spans: Sequence[Span]) -> list[Line]:
    lines: list[Line] = []
    for span in spans:
        stop = ORDINAL_MAX if span.stop is None else span.stop
        found = rows(db, ROWS, {"id": span.session, "start": span.start, "stop": stop})
        lines += (decode_line(line.encode()) for (line,) in found)
    return lines
