-- A session is busy while it has a turn, or while a message waits in it. The index holds only
-- those, and changes only when that does.
ALTER TABLE sessions ADD COLUMN busy INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_busy ON sessions (n) WHERE busy = 1;
UPDATE sessions SET busy = 1 WHERE phase <> 'idle' OR waiting > 0;

-- Numbers of sessions grow by one, so their count is the highest less those that are missing.
CREATE TABLE missing (sessions INTEGER NOT NULL) STRICT;
INSERT INTO missing SELECT coalesce(max(n), 0) - count(*) FROM sessions;

-- `title` and `at` are like `tail`: written once the conversation is over. Of the current one the
-- session's row knows them. `opening` is messages.n of the first row of a person.
ALTER TABLE sessions ADD COLUMN row_at REAL NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN at REAL NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN opening INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET row_at = coalesce(
    (SELECT json_extract(line, '$.at') FROM messages m WHERE m.n = row_tail), 0);
UPDATE conversations SET at = coalesce(
    (SELECT json_extract(line, '$.at') FROM messages m WHERE m.n = tail), 0);
UPDATE conversations SET opening = first.n FROM (
    SELECT conversation, min(n) AS n FROM messages
    WHERE json_extract(line, '$.role') = 'user' GROUP BY conversation
) AS first WHERE first.conversation = conversations.n;
-- Between two resets of a lane its title is that of one conversation: the last one set.
UPDATE conversations SET title = told.title FROM (
    SELECT session, era, title, max(n) FROM (
        SELECT n, session, CAST(event AS TEXT) ->> '$.value' AS title,
               CAST(event AS TEXT) ->> '$.name' AS name,
               count(*) FILTER (WHERE kind = 'session_reset.1')
                   OVER (PARTITION BY session ORDER BY n) AS era
        FROM journal WHERE kind IN ('session_reset.1', 'fact_set.1')
    ) WHERE name = 'title' GROUP BY session, era
) AS told JOIN (
    SELECT n, session, row_number() OVER (PARTITION BY session ORDER BY n) - 1 AS era
    FROM conversations
) AS lane ON lane.session = told.session AND lane.era = told.era
WHERE lane.n = conversations.n;

-- What each session has seen of a chat; the newest word about a chat counts.
CREATE TABLE chats (
    platform TEXT    NOT NULL,
    chat     TEXT    NOT NULL,
    thread   TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    session  INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    seen_at  REAL    NOT NULL,
    PRIMARY KEY (platform, chat, thread, account, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX chats_latest ON chats (platform, chat, thread, account, seen_at);

-- The last home of a platform that each session has set; the last event counts.
CREATE TABLE homes (
    platform TEXT    NOT NULL,
    session  INTEGER NOT NULL,
    chat     TEXT    NOT NULL,
    thread   TEXT    NOT NULL,
    account  TEXT    NOT NULL,
    at       REAL    NOT NULL,
    event    INTEGER NOT NULL,  -- journal.n
    PRIMARY KEY (platform, session)
) STRICT, WITHOUT ROWID;

ALTER TABLE outbox ADD COLUMN chat TEXT NOT NULL DEFAULT '';
UPDATE outbox SET chat = json_extract(body, '$.address.chat') WHERE state <> 'delivered';
CREATE INDEX outbox_abandoned ON outbox (n) WHERE state = 'abandoned';
CREATE TABLE pauses (
    platform TEXT NOT NULL,
    chat     TEXT NOT NULL,
    until    REAL NOT NULL,
    PRIMARY KEY (platform, chat)
) STRICT, WITHOUT ROWID;

-- `boot` counts the boots of a seat; `parted` says that the node left by itself.
ALTER TABLE nodes ADD COLUMN seat TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN boot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN parted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX nodes_alive ON nodes (id) WHERE buried = 0;
CREATE TABLE holds (
    name TEXT PRIMARY KEY,
    node TEXT NOT NULL
) STRICT, WITHOUT ROWID;
