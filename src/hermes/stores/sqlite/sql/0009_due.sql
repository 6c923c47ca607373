-- When a session must be looked at again by itself: a question or a deferred call runs out of time. 0: never.
ALTER TABLE sessions ADD COLUMN due_at REAL NOT NULL DEFAULT 0;
UPDATE sessions SET due_at = coalesce(
    (SELECT min(q.expires_at) FROM questions q WHERE q.session = sessions.n AND q.state = 'pending'), 0
) WHERE phase = 'asking';
CREATE INDEX sessions_due ON sessions (due_at) WHERE due_at > 0;
