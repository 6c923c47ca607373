-- Jobs as they are now. Their sessions' journals say the same; `due_at` is when the timer looks next.
CREATE TABLE jobs (
    id       TEXT PRIMARY KEY,
    session  INTEGER NOT NULL,
    state    TEXT NOT NULL,
    made_at  REAL NOT NULL,
    cursor   REAL NOT NULL,
    due_at   REAL,
    body     BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_session ON jobs (session);
