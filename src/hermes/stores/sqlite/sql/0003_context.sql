-- Texts that many sessions share (system prompts), by the SHA-256 of their bytes.
CREATE TABLE texts (
    digest TEXT PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Every model call, for ever. When its session is deleted, what it cost stays: `session` is 0 then,
-- and neither conversation nor turn is named. The others are made again by `rebuild`.
CREATE TABLE usage (
    n             INTEGER PRIMARY KEY,
    session       INTEGER NOT NULL,
    conversation  TEXT    NOT NULL,
    turn          TEXT    NOT NULL,
    position      INTEGER NOT NULL,  -- of its event; with `ordinal` unique in the session
    ordinal       INTEGER NOT NULL,
    at            REAL    NOT NULL,
    platform      TEXT    NOT NULL,
    person        TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    purpose       TEXT    NOT NULL,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cached        INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cost          REAL               -- what the provider said, in US dollars
) STRICT;
CREATE INDEX usage_at ON usage (at);
CREATE INDEX usage_session ON usage (session, at);

-- Every tool call that has ended.
CREATE TABLE tool_calls (
    n        INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    tool     TEXT    NOT NULL,
    outcome  TEXT    NOT NULL,
    at       REAL    NOT NULL,
    seconds  REAL
) STRICT;
CREATE INDEX tool_calls_at ON tool_calls (at);

-- What the journal says of earlier times. Who spoke is known by the first message of the turn.
WITH answers AS MATERIALIZED (
    SELECT session, position, at, CAST(event AS TEXT) AS event FROM journal
    WHERE kind = 'model_answered.1'
), starts AS MATERIALIZED (
    SELECT j.session, CAST(j.event AS TEXT) ->> '$.turn' AS turn,
           CAST(j.event AS TEXT) ->> '$.messages[#-1]' AS message
    FROM journal j WHERE j.kind = 'turn_started.1'
), heard AS MATERIALIZED (
    SELECT session, CAST(event AS TEXT) -> '$.inbound' AS inbound FROM journal
    WHERE kind = 'message_received.1'
), named AS MATERIALIZED (
    SELECT session, inbound, (inbound ->> '$.account') || '#' || (inbound ->> '$.id') AS message
    FROM heard
)
INSERT INTO usage (
    session, conversation, turn, position, ordinal, at, platform, person, model, purpose,
    input, output, cached, cache_written, reasoning, cost
)
SELECT a.session, t.conversation, t.id, a.position, 0, a.at,
       coalesce(h.inbound ->> '$.address.platform', ''), coalesce(h.inbound ->> '$.sender.id', ''),
       coalesce(a.event ->> '$.model', ''),
       CASE h.inbound ->> '$.origin'
           WHEN 'schedule' THEN 'schedule' WHEN 'parent' THEN 'subagent'
           WHEN 'background' THEN 'background' ELSE 'turn' END,
       coalesce(a.event ->> '$.usage.input', 0), coalesce(a.event ->> '$.usage.output', 0),
       coalesce(a.event ->> '$.usage.cached', 0),
       coalesce(a.event ->> '$.usage.cache_written', 0),
       coalesce(a.event ->> '$.usage.reasoning', 0), CAST(a.event ->> '$.usage.cost' AS REAL)
FROM answers a
JOIN turns t ON t.id = a.event ->> '$.turn'
LEFT JOIN starts s ON s.session = a.session AND s.turn = t.id
LEFT JOIN named h ON h.session = a.session AND h.message = s.message
ORDER BY a.at;

WITH asked AS MATERIALIZED (
    SELECT j.session, c.value ->> '$.id' AS call, c.value ->> '$.tool' AS tool
    FROM journal j, json_each(CAST(j.event AS TEXT), '$.calls') c
    WHERE j.kind = 'model_answered.1'
), begun AS MATERIALIZED (
    SELECT session, CAST(event AS TEXT) ->> '$.call' AS call, max(at) AS at
    FROM journal WHERE kind = 'call_started.1' GROUP BY 1, 2
), ended AS MATERIALIZED (
    SELECT session, position, at, CAST(event AS TEXT) ->> '$.call' AS call,
           CAST(event AS TEXT) ->> '$.outcome' AS outcome
    FROM journal WHERE kind = 'call_ended.1'
)
INSERT INTO tool_calls (session, position, tool, outcome, at, seconds)
SELECT e.session, e.position, a.tool, e.outcome, e.at, max(e.at - b.at, 0)
FROM ended e JOIN asked a ON a.session = e.session AND a.call = e.call
LEFT JOIN begun b ON b.session = e.session AND b.call = e.call
ORDER BY e.at;
