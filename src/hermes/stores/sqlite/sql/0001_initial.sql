-- A lane (session key) is `sessions.n`, a conversation (session id) is `conversations.n`.
-- Events and rows stand in the order of their writing; each names the one before it of its session
-- or conversation, and the last one is known. So a commit of many sessions writes a few pages in a
-- row instead of some pages for each of them, and a session is read from its end.
CREATE TABLE sessions (
    n          INTEGER PRIMARY KEY,
    key        TEXT    NOT NULL UNIQUE,
    id         TEXT    NOT NULL,
    head       INTEGER NOT NULL DEFAULT 0,  -- last position in the journal
    ready      INTEGER NOT NULL DEFAULT 0,  -- there are events behind the owner's last rest
    written    INTEGER NOT NULL DEFAULT 0,  -- last position that an owner wrote
    tail       INTEGER NOT NULL DEFAULT 0,  -- journal.n of its last event
    conversation INTEGER NOT NULL DEFAULT 0,  -- conversations.n of the current one
    row_tail   INTEGER NOT NULL DEFAULT 0,  -- messages.n of that one's last row
    owner      TEXT,
    epoch      INTEGER NOT NULL DEFAULT 0,
    phase      TEXT    NOT NULL DEFAULT 'idle',
    mark       TEXT    NOT NULL DEFAULT '',
    runs       INTEGER NOT NULL DEFAULT 0,
    waiting    INTEGER NOT NULL DEFAULT 0,
    title      TEXT    NOT NULL DEFAULT '',
    rows       INTEGER NOT NULL DEFAULT 0,
    created_at REAL    NOT NULL,
    updated_at REAL    NOT NULL
) STRICT;
-- Holds only sessions with something to do, and changes only when that does.
CREATE INDEX sessions_ready ON sessions (n) WHERE ready = 1;

-- Every ownership has a number of its own, also across a session that was deleted and came back.
CREATE TABLE epochs (last INTEGER NOT NULL) STRICT;
INSERT INTO epochs VALUES (0);

CREATE TABLE journal (
    n        INTEGER PRIMARY KEY,
    prev     INTEGER NOT NULL,  -- journal.n of the session's event before; 0 for the first
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    event    BLOB    NOT NULL,
    at       REAL    NOT NULL
) STRICT;

CREATE TABLE inbox (
    account  TEXT    NOT NULL,
    message  TEXT    NOT NULL,
    session  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (account, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_session ON inbox (session);

CREATE TABLE snapshots (
    session  INTEGER PRIMARY KEY,
    position INTEGER NOT NULL,
    state    BLOB    NOT NULL
) STRICT;

CREATE TABLE conversations (
    n         INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE,
    session   INTEGER NOT NULL,
    tail      INTEGER NOT NULL DEFAULT 0  -- messages.n of its last row, once it is over
) STRICT;
CREATE INDEX conversations_session ON conversations (session);

CREATE TABLE messages (
    n            INTEGER PRIMARY KEY,
    prev         INTEGER NOT NULL,  -- messages.n of the conversation's row before; 0 for the first
    conversation INTEGER NOT NULL,
    ordinal      INTEGER NOT NULL,
    line         TEXT    NOT NULL
) STRICT;

-- Long tool output is searched in its first part only.
CREATE VIEW message_text AS
    SELECT n, substr(json_extract(line, '$.text'), 1, 8000) AS text FROM messages;
CREATE VIRTUAL TABLE message_index USING fts5(
    text, content='message_text', content_rowid='n', tokenize='unicode61 remove_diacritics 2'
);
CREATE TABLE indexed (upto INTEGER NOT NULL) STRICT;
INSERT INTO indexed VALUES (0);

CREATE TABLE turns (
    id         TEXT    PRIMARY KEY,
    session    INTEGER NOT NULL,
    conversation TEXT  NOT NULL,
    state      TEXT    NOT NULL,
    attempts   INTEGER NOT NULL,
    started_at REAL    NOT NULL,
    ended_at   REAL,
    first      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_recent ON turns (started_at);
CREATE INDEX turns_session ON turns (session, started_at);

CREATE TABLE outbox (
    n          INTEGER PRIMARY KEY,
    reply      TEXT    NOT NULL UNIQUE,
    session    INTEGER NOT NULL,
    platform   TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    state      TEXT    NOT NULL DEFAULT 'pending',
    node       TEXT,
    attempts   INTEGER NOT NULL DEFAULT 0,
    chunks     INTEGER NOT NULL DEFAULT 0,
    receipt    TEXT,
    problem    TEXT,
    created_at REAL    NOT NULL,
    not_before REAL    NOT NULL DEFAULT 0,
    sent_at    REAL
) STRICT;
CREATE INDEX outbox_open ON outbox (n) WHERE state IN ('pending', 'sending', 'failed');
CREATE INDEX outbox_session ON outbox (session, n);

-- The lease counts on the machine's monotonic clock, so a step of the wall clock ends none.
CREATE TABLE nodes (
    id          TEXT PRIMARY KEY,
    started_at  REAL NOT NULL,
    lease_until REAL NOT NULL,
    buried      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
