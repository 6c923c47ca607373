"""Events and rows as they are chained in the file: written at its end, read from theirs back."""

from collections.abc import Sequence
from dataclasses import dataclass

import apsw

from hermes.core.codec import decode_event, decode_line, encode
from hermes.core.events import Event, Span
from hermes.core.messages import Line
from hermes.core.projection import Commit, Written
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
ON CONFLICT (id) DO UPDATE SET session = excluded.session RETURNING n, tail
"""
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


@dataclass
class Scroll:
    """Where a session's rows are being written: its conversation, and the last row there."""

    session: int
    id: str
    conversation: int
    tail: int

    def write(self, db: apsw.Cursor, commit: Commit) -> None:
        """The commit's rows, each into its conversation, in their order."""
        for row in commit.rows:
            self.turn_to(db, row.session)
            line = encode(row.line).decode()
            db.execute(ADD_ROW, (self.tail, self.conversation, row.ordinal, line))
            self.tail = db.connection.last_insert_rowid()
        for id_ in (*commit.opens, commit.after.id):
            self.turn_to(db, id_)

    def turn_to(self, db: apsw.Cursor, id_: str) -> None:
        """Another conversation is current from here on; the one before keeps its last row."""
        if id_ == self.id and self.conversation:
            return
        if self.conversation:
            ended = (self.tail, self.conversation)
            db.execute("UPDATE conversations SET tail = ? WHERE n = ?", ended)
        self.id = id_
        self.conversation, self.tail = rows(db, ADD_CONVERSATION, (id_, self.session))[0]


def add_event(db: apsw.Cursor, session: int, prev: int, position: int, event: Written) -> int:
    """Returns the event's place, which the next one names."""
    values = (prev, session, position, event.kind, event.body, event.at)
    db.execute(ADD_EVENT, values)
    return db.connection.last_insert_rowid()


def events_after(db: apsw.Cursor, session: int, position: int) -> list[Event]:
    found = rows(db, EVENTS, {"session": session, "after": position})
    return [decode_event(raw) for (raw,) in found]


def read_lines(db: apsw.Cursor, spans: Sequence[Span]) -> list[Line]:
    lines: list[Line] = []
    for span in spans:
        stop = ORDINAL_MAX if span.stop is None else span.stop
        found = rows(db, ROWS, {"id": span.session, "start": span.start, "stop": stop})
        lines += (decode_line(line.encode()) for (line,) in found)
    return lines
