"""Usage accounting: model calls and tool calls, written with the commit that records them."""

from collections.abc import Sequence

import apsw

from hermes.core.ids import SessionId, SessionKey
from hermes.core.messages import sound
from hermes.core.projection import Commit
from hermes.core.store import Spending, UsageSum
from hermes.stores.listing import tool_sum, usage_sum
from hermes.stores.sqlite.reader import rows

ADD_USAGE = f"""
INSERT INTO usage (
    session, conversation, turn, position, ordinal, at, platform, person, model, purpose,
    input, output, cached, cache_written, reasoning, cost
) VALUES ({", ".join("?" * 16)})
"""
ADD_CALL = """
INSERT INTO tool_calls (session, position, tool, outcome, at, seconds) VALUES (?, ?, ?, ?, ?, ?)
"""
SUMS = """
sum(calls), sum(input), sum(output), sum(cached), sum(cache_written), sum(reasoning), sum(cost)
"""
# First everything that differs in nothing, then each dimension of those few.
_BY = """
SELECT * FROM (
    SELECT '{by}', {name}, model, {sums} FROM few {join} GROUP BY {group}, model, priced
    ORDER BY sum(input) + sum(output) DESC, 2, model, priced LIMIT :limit
)
"""
_DIMENSIONS = (
    ("day", "date(day * 86400, 'unixepoch')", "", "day"),
    ("model", "model", "", "model"),
    ("purpose", "purpose", "", "purpose"),
    ("platform", "platform", "", "platform"),
    ("session", "coalesce(s.key, '')", "LEFT JOIN sessions s ON s.n = session", "session"),
    ("person", "person", "", "person"),
)
USAGE = """
WITH few AS MATERIALIZED (
    SELECT CAST(at / 86400 AS INTEGER) AS day, session, model, purpose, platform, person,
           cost IS NOT NULL AS priced, count(*) AS calls, sum(input) AS input,
           sum(output) AS output, sum(cached) AS cached, sum(cache_written) AS cache_written,
           sum(reasoning) AS reasoning, sum(cost) AS cost
    FROM usage WHERE at >= :since AND at < :until GROUP BY 1, 2, 3, 4, 5, 6, 7
)
""" + " UNION ALL ".join(
    _BY.format(by=by, name=name, sums=SUMS, join=join, group=group)
    for by, name, join, group in _DIMENSIONS
)
TOOLS = """
SELECT tool, count(*), sum(outcome NOT IN ('ok', 'stopped')), count(seconds), total(seconds)
FROM tool_calls WHERE at >= :since AND at < :until
GROUP BY tool ORDER BY 2 DESC, 1 LIMIT :limit
"""
SPENT = """
SELECT 'model', model, model, count(*), sum(input), sum(output), sum(cached), sum(cache_written),
       sum(reasoning), sum(cost)
FROM usage
WHERE {lane} at >= :since AND (:conversation IS NULL OR conversation = :conversation)
    AND (:person IS NULL OR person = :person)
GROUP BY model, cost IS NOT NULL ORDER BY model LIMIT 1000
"""
LANE = "session = (SELECT n FROM sessions WHERE key = :key) AND"
# Deleted sessions leave what they cost, and no word about themselves.
UNNAME = """
UPDATE usage SET session = 0, conversation = '', turn = '', position = 0, ordinal = 0
WHERE session = ?1
"""


def add_usage(db: apsw.Cursor, number: int, commit: Commit, before: int) -> None:
    """Store the usage of a commit. `before` is the journal position before the commit's events."""
    for row in commit.usage:
        spent, usage = row.spent, row.spent.usage
        told = (sound(row.platform), sound(row.person), sound(spent.model), spent.purpose)
        tokens = (usage.input, usage.output, usage.cached, usage.cache_written, usage.reasoning)
        place = (number, row.session, row.turn, before + row.event, row.ordinal, row.at)
        db.execute(ADD_USAGE, (*place, *told, *tokens, usage.cost))
    for call in commit.calls:
        values = (sound(call.tool), call.outcome.value, call.at, call.seconds)
        db.execute(ADD_CALL, (number, before + call.event, *values))


def usage(db: apsw.Cursor, since: float, until: float, limit: int) -> Spending:
    values = {"since": since, "until": until, "limit": limit}
    return Spending(
        sums=tuple(usage_sum(*row) for row in rows(db, USAGE, values)),
        tools=tuple(tool_sum(*row) for row in rows(db, TOOLS, values)),
    )


def spent(
    db: apsw.Cursor,
    since: float,
    key: SessionKey | None,
    conversation: SessionId | None,
    person: str | None,
) -> Sequence[UsageSum]:
    who = None if person is None else sound(person)
    values = {"since": since, "key": key, "conversation": conversation, "person": who}
    sql = SPENT.format(lane=LANE if key is not None else "")
    return [usage_sum(*row) for row in rows(db, sql, values)]
