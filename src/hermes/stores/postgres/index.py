"""The full-text index: words are added to transcript rows after the commit that wrote them.

A row that is not indexed yet is listed in `unread`; every heartbeat and every search indexes some.
If a process dies in between, the row stays listed for the next one.
"""

import time
from collections.abc import Iterator

from psycopg import errors as pg

from hermes.core.codec import decode_line
from hermes.core.ids import SessionKey
from hermes.core.store import Found
from hermes.stores.hits import SearchRequest, hit_of
from hermes.stores.postgres.connections import Connection, Dialer, Row
from hermes.stores.postgres.statements import QUERY
from hermes.stores.words import Lens, Term, place_words, scope_word, words_of

ROWS_AT_ONCE = 1_000
READING_MAX_S = 2.0  # before one search; beats do the rest
NEWEST = 1_000  # rows that are looked at one by one
OLDER_MAX = 2_000


class Index:
    def __init__(self, dialer: Dialer) -> None:
        self._lane = dialer.reading()
        self._searches = dialer.searching()

    async def read_some(self) -> int:
        """Index some rows. Return how many there were; fewer than a full portion means that none is
        left."""
        return await self._lane.run(_read)

    async def read_all(self) -> bool:
        """Index all rows, unless there are very many. Return True if none is left."""
        deadline = time.monotonic() + READING_MAX_S
        while await self._searches.fetch(QUERY["is_unread"]) == [(True,)]:
            if await self.read_some() < ROWS_AT_ONCE:
                return True
            if time.monotonic() > deadline:
                return False
        return True

    async def search(self, wanted: SearchRequest) -> Found:
        """Return hits ranked by how much of a row is about the words; among equals the latest
        first."""
        read, values = await self.read_all(), _values(wanted)

        async def ask(connection: Connection) -> list[Row] | None:
            try:
                cursor = await connection.execute(QUERY["search"], values, binary=True)
                return await cursor.fetchall()
            except pg.QueryCanceled:
                return None

        rows = await self._searches.run(ask)
        lens = Lens(wanted.question)
        hits = [
            hit_of(key, id_, ordinal, decode_line(line), lens)
            for key, id_, ordinal, line in rows or ()
        ]
        return wanted.found(hits, read=read, whole=rows is not None)

    async def close(self) -> None:
        await self._lane.close()
        await self._searches.close()


async def _read(connection: Connection) -> int:
    async with connection.transaction():
        cursor = await connection.execute(QUERY["unread"], {"limit": ROWS_AT_ONCE}, binary=True)
        rows = await cursor.fetchall()
        if rows:
            values = {
                "session": [session for session, *_ in rows],
                "ordinal": [ordinal for _, ordinal, *_ in rows],
                "at": [at for _, _, at, *_ in rows],
                "words": [_vector(key, decode_line(line).text) for *_, key, line in rows],
            }
            await connection.execute(QUERY["read"], values)
    return len(rows)


def _vector(key: SessionKey, text: str) -> str:
    """Return a tsvector as text. Words contain letters and digits only."""
    places: dict[str, list[str]] = {}
    for position, word in enumerate(words_of(text), start=1):
        places.setdefault(word, []).append(str(position))
    words = [f"{word}:{','.join(positions)}" for word, positions in places.items()]
    return " ".join((*place_words(key), *words))


def _query(wanted: SearchRequest) -> str:
    return " & ".join(_parts(wanted))


def _parts(wanted: SearchRequest) -> Iterator[str]:
    if word := scope_word(wanted.scope):
        yield f"'{word}'"
    for term in wanted.question.wanted:
        yield _phrase(term)
    for term in wanted.question.barred:
        yield f"!{_phrase(term)}"


def _phrase(term: Term) -> str:
    words = " <-> ".join(f"'{word}'" for word in term.words)
    return f"({words}{':*' if term.begins else ''})"


def _values(wanted: SearchRequest) -> dict[str, object]:
    ranges = wanted.ranges()
    return {
        "query": _query(wanted),
        "limit": wanted.limit,
        "candidates": wanted.candidates,
        "newest": NEWEST,
        "older": max(OLDER_MAX, wanted.candidates),
        "session": [session for session, _, _ in ranges],
        "start": [start for _, start, _ in ranges],
        "stop": [stop for _, _, stop in ranges],
    }
