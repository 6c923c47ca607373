-- When a session must be looked at again by itself: a question or a deferred call runs out of time. 0: never.
alter table sessions add column due_at double precision not null default 0;
update sessions s set due_at = coalesce(
  (select min(q.expires_at) from questions q where q.key = s.key and q.state = 'pending'), 0
) where phase = 'asking';
create index sessions_due on sessions (due_at) where due_at > 0;
