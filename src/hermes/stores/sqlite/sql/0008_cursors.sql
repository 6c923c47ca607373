-- How far each platform has been read. A position moves only after every message before it was accepted.
CREATE TABLE cursors (
    platform TEXT NOT NULL,
    account  TEXT NOT NULL,
    name     TEXT NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (platform, account, name)
) STRICT, WITHOUT ROWID;
