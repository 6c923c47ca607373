"""Questions to people and their state: rows of the commits that record them."""

import apsw

from hermes.core.ids import SessionKey
from hermes.core.messages import sound
from hermes.core.projection import Commit, QuestionRow
from hermes.stores.listing import question_row
from hermes.stores.sqlite.reader import rows

ADD = "INSERT OR IGNORE INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
ANSWER = "UPDATE questions SET state = ?, decided_by = ?, decided_at = ? WHERE id = ?"
USE = "UPDATE questions SET state = 'used' WHERE id = ?"
QUESTION = """
SELECT q.id, s.key, q.turn, q.tool, q.preview, q.why, q.asked_at, q.expires_at, q.state,
       q.decided_by, q.decided_at
FROM questions q JOIN sessions s ON s.n = q.session
"""
OVERDUE = "SELECT key FROM sessions WHERE due_at > 0 AND due_at <= ? ORDER BY due_at LIMIT ?"


def add_questions(db: apsw.Cursor, number: int, commit: Commit) -> None:
    for q in commit.questions:
        told = (sound(q.tool), sound(q.preview), sound(q.why), q.asked_at, q.expires_at)
        db.execute(ADD, (q.id, number, q.turn, *told, q.state, sound(q.decided_by), q.decided_at))
    for answer in commit.answers:
        if answer.state == "used":
            db.execute(USE, (answer.id,))
        else:
            db.execute(ANSWER, (answer.state, sound(answer.by), answer.at, answer.id))


def questions(db: apsw.Cursor, limit: int, pending: bool) -> list[QuestionRow]:
    which = "WHERE q.state = 'pending'" if pending else ""
    sql = f"{QUESTION} {which} ORDER BY q.asked_at DESC, q.id DESC LIMIT ?"
    return [question_row(*row) for row in rows(db, sql, (limit,))]


def question(db: apsw.Cursor, id_: str) -> QuestionRow | None:
    found = rows(db, f"{QUESTION} WHERE q.id = ?", (sound(id_),))
    return question_row(*found[0]) if found else None


def overdue(db: apsw.Cursor, now: float, limit: int) -> list[SessionKey]:
    return [SessionKey(key) for (key,) in rows(db, OVERDUE, (now, limit))]
