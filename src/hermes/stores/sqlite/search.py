"""Full-text search: rows enter the index some time after their commit.

The newest rows are searched first, in growing slices, until there are enough candidates; only those
are ranked. FTS5 cannot be interrupted inside a slice, so the clock is read between them.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import apsw

from hermes.core.codec import decode_line
from hermes.core.store import Hit
from hermes.stores.hits import SearchRequest, hit_of
from hermes.stores.sqlite.reader import rows
from hermes.stores.words import Lens, Term, place_words, scope_word, words_of

INDEX_CHARS_MAX = 500_000  # in one go: the writer has other things to do
SLICE_ROWS = 16_384
SLICE_GROWTH = 16
TIME_MAX_S = 1.0
STEPS_BETWEEN_LOOKS = 20_000
USUAL_WORDS = 40.0  # of a row: longer ones weigh less

FRESH = """
SELECT m.n, s.key, m.line FROM messages m
JOIN conversations c ON c.n = m.conversation JOIN sessions s ON s.n = c.session
WHERE m.n > ? ORDER BY m.n LIMIT ?
"""
UNREAD = "SELECT (SELECT upto FROM indexed) < (SELECT coalesce(max(n), 0) FROM messages)"
LATEST = "SELECT coalesce(max(n), 0) FROM messages"
SLICE = """
SELECT i.rowid, relevance(message_index) FROM message_index i
CROSS JOIN messages m ON m.n = i.rowid
WHERE message_index MATCH ? AND i.rowid > ? AND i.rowid <= ? {hidden}
ORDER BY i.rowid DESC LIMIT ?
"""
HIDDEN = """AND NOT (m.conversation = (SELECT n FROM conversations WHERE id = ?)
                     AND m.ordinal >= ? AND m.ordinal < ?)"""
HITS = """
SELECT m.n, s.key, c.id, m.ordinal, m.line FROM messages m
JOIN conversations c ON c.n = m.conversation JOIN sessions s ON s.n = c.session
WHERE m.n IN ({places})
"""


def is_unread(db: apsw.Cursor) -> bool:
    """Return True if there are rows that are not indexed yet."""
    return bool(db.execute(UNREAD).get)


def index_messages(db: apsw.Cursor, limit: int) -> None:
    """Index some of the rows that are not indexed yet, the oldest first."""
    upto = int(db.execute("SELECT upto FROM indexed").get)
    made, chars = list[tuple[int, str]](), 0
    for n, key, line in db.execute(FRESH, (upto, limit)):
        words = " ".join((*place_words(key), *words_of(decode_line(line.encode()).text)))
        made.append((n, words))
        chars += len(words)
        if chars > INDEX_CHARS_MAX:
            break
    if made:
        db.executemany("INSERT INTO message_index (rowid, words) VALUES (?, ?)", made)
        db.execute("UPDATE indexed SET upto = ?", (made[-1][0],))


def forget_index(db: apsw.Cursor) -> None:
    """Mark all rows as not indexed."""
    db.execute("INSERT INTO message_index (message_index) VALUES ('delete-all')")
    db.execute("UPDATE indexed SET upto = 0")


def search(
    db: apsw.Cursor, wanted: SearchRequest, clock: Callable[[], float] = time.monotonic
) -> tuple[list[Hit], bool]:
    """Return hits ranked by how much of a row is about the words, among equals the latest first;
    and False if time ran out before all rows were searched."""
    deadline = clock() + TIME_MAX_S

    def late() -> bool:
        return clock() > deadline

    db.connection.register_fts5_function("relevance", relevance)
    db.connection.set_progress_handler(late, STEPS_BETWEEN_LOOKS)
    try:
        candidates, whole = _candidates(db, wanted, late)
        best = sorted(candidates, key=lambda found: (-found[1], -found[0]))[: wanted.limit]
        return _hits(db, [n for n, _ in best], wanted), whole
    except apsw.InterruptError:
        return [], False
    finally:
        db.connection.set_progress_handler(None)


def relevance(api: apsw.FTS5ExtensionApi, *_: object) -> float:
    """Rank a row by how often the words occur for its length. The rarity of a word does not count:
    all words must occur, and counting a common one would read the whole index."""
    count = api.inst_count
    return count / (count + 0.3 + 0.9 * api.column_size(0) / USUAL_WORDS)


def _candidates(
    db: apsw.Cursor, wanted: SearchRequest, late: Callable[[], bool]
) -> tuple[list[tuple[Any, ...]], bool]:
    ranges = wanted.ranges()
    sql = SLICE.format(hidden=HIDDEN * len(ranges))
    query, hidden = _match(wanted), [value for each in ranges for value in each]
    found: list[tuple[Any, ...]] = []
    top, size = int(db.execute(LATEST).get), SLICE_ROWS
    while top > 0 and len(found) < wanted.candidates:
        if late():
            return found, False
        left = wanted.candidates - len(found)
        found += rows(db, sql, (query, top - size, top, *hidden, left))
        top, size = top - size, size * SLICE_GROWTH
    return found, True


def _hits(db: apsw.Cursor, places: Sequence[int], wanted: SearchRequest) -> list[Hit]:
    """Return the hits in this order."""
    lens = Lens(wanted.question)
    sql = HITS.format(places=", ".join("?" * len(places)))
    hits = {
        n: hit_of(key, id_, ordinal, decode_line(line.encode()), lens)
        for n, key, id_, ordinal, line in rows(db, sql, places)
    }
    return [hits[n] for n in places if n in hits]


def _match(wanted: SearchRequest) -> str:
    """Return the FTS5 expression. Words contain letters and digits only, so quoting them is
    safe."""
    word = scope_word(wanted.scope)
    all_of = " AND ".join([*[f'"{word}"'] * bool(word), *map(_phrase, wanted.question.wanted)])
    none_of = " OR ".join(map(_phrase, wanted.question.barred))
    return f"({all_of}) NOT ({none_of})" if none_of else all_of


def _phrase(term: Term) -> str:
    return f'"{" ".join(term.words)}"{" *" if term.begins else ""}'
