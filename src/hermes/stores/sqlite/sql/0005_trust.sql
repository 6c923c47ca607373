-- Who may come in, and what was allowed for good. Nothing of it can be made from the journal again:
-- `rebuild` leaves it alone. `version` grows with every change to people or grants.
CREATE TABLE standing (version INTEGER NOT NULL) STRICT;
INSERT INTO standing VALUES (0);

CREATE TABLE people (
    platform TEXT    NOT NULL,
    id       TEXT    NOT NULL,
    role     INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    chat     TEXT    NOT NULL,
    since    REAL    NOT NULL,
    by       TEXT    NOT NULL,
    PRIMARY KEY (platform, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE invites (
    digest     TEXT    PRIMARY KEY,
    role       INTEGER NOT NULL,
    made_at    REAL    NOT NULL,
    expires_at REAL    NOT NULL,
    by         TEXT    NOT NULL,
    used_at    REAL
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
    n        INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE,
    platform TEXT    NOT NULL,
    person   TEXT    NOT NULL,
    chat     TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    text     TEXT    NOT NULL,
    at       REAL    NOT NULL,
    UNIQUE (platform, person)
) STRICT;

CREATE TABLE grants (
    n          INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    body       BLOB    NOT NULL,
    expires_at REAL    NOT NULL
) STRICT;

-- What people were asked. Made again by `rebuild`.
CREATE TABLE questions (
    id         TEXT    PRIMARY KEY,
    session    INTEGER NOT NULL,
    turn       TEXT    NOT NULL,
    tool       TEXT    NOT NULL,
    preview    TEXT    NOT NULL,
    why        TEXT    NOT NULL,
    asked_at   REAL    NOT NULL,
    expires_at REAL    NOT NULL,
    state      TEXT    NOT NULL,
    decided_by TEXT    NOT NULL,
    decided_at REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_recent ON questions (asked_at, id);
CREATE INDEX questions_session ON questions (session);
CREATE INDEX questions_open ON questions (expires_at) WHERE state = 'pending';

-- The one chain of this file. It only grows at its end, and is cut at its beginning by a prune,
-- which first says how far. The triggers guard against ourselves; the seals against others.
CREATE TABLE audit (
    seq  INTEGER PRIMARY KEY,
    kind TEXT    NOT NULL,
    at   REAL    NOT NULL,
    body BLOB    NOT NULL,
    seal BLOB    NOT NULL
) STRICT;
CREATE TABLE audit_floor (upto INTEGER NOT NULL) STRICT;
INSERT INTO audit_floor VALUES (0);
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'what is in the audit log stays as it is');
END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit WHEN old.seq > (SELECT upto FROM audit_floor) BEGIN
    SELECT RAISE(ABORT, 'what is in the audit log stays there');
END;
