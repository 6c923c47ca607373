-- The replies of a chat go out in order, so what is open is looked for by session. A removed draft waits for nothing.
ALTER TABLE outbox ADD COLUMN ordered INTEGER NOT NULL DEFAULT 1;
CREATE INDEX outbox_waiting ON outbox (session, n) WHERE state IN ('pending', 'sending', 'failed');

-- The node that may not go on with a session now. It does not claim it again by itself.
ALTER TABLE sessions ADD COLUMN declined TEXT;
