-- A receipt of the chat from before a reply was sent: what was sent stands behind it, if it arrived.
ALTER TABLE outbox ADD COLUMN behind TEXT NOT NULL DEFAULT '';
