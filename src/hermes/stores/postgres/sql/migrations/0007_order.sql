-- The replies of a chat go out in order, so what is open is looked for by session. A removed draft waits for nothing.
alter table outbox add column ordered boolean not null default true;
create index outbox_waiting on outbox (key, n) where state in ('pending', 'failed', 'sending');

-- The node that may not go on with a session now. It does not claim it again by itself.
alter table sessions add column declined text collate "C";
