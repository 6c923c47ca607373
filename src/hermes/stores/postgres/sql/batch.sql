Statements of the group commit. Each takes arrays: one element an operation, or one element a row
together with the number (from 1) of the operation it belongs to. What is refused writes nothing
and is simply missing from the answer, so it spoils nothing for the others of its batch. A part under
`-- with x` is left out when no operation of the batch has an x.

-- name: open
-- Lanes that may be new, in the order of their keys: two batches never wait for each other crosswise.
insert into sessions (key, id)
select key, min(opens) from unnest(%(key)s::text[], %(opens)s::text[]) as a (key, opens)
group by key order by key
on conflict (key) do nothing

-- name: lock
select count(*) from (
  select from sessions where key = any(%(keys)s::text[]) order by key for update
) held

-- name: lock_outbox
select count(*) from (
  select from outbox where id = any(%(ids)s::text[]) order by id for update
) held

-- name: append
-- The fence: the owner and the epoch are the writer's, its node is not buried, and no owner has
-- written behind what the writer had seen (`base`). What begins something was decided by the version
-- of the register that still stands; to have read it keeps it so until the commit (see `changed`).
with asked as materialized (
  select * from unnest(
    %(key)s::text[], %(node)s::text[], %(epoch)s::bigint[], %(base)s::bigint[],
    %(count)s::bigint[], %(at)s::float8[], %(id)s::text[], %(phase)s::text[], %(mark)s::text[],
    %(runs)s::bigint[], %(title)s::text[], %(rows)s::bigint[], %(taken)s::bigint[],
    %(rests)s::boolean[], %(standing)s::bigint[], %(due_at)s::float8[]
  ) with ordinality as a (
    key, node, epoch, base, count, at, id, phase, mark, runs, title, rows, taken, rests, standing,
    due_at, n
  )
), held as (  -- one that rests does not when a message came in between
  update sessions s
  set head = s.head + a.count, written = s.head + a.count, id = a.id, phase = a.phase,
      mark = a.mark, runs = a.runs, title = a.title, rows = a.rows,
      waiting = s.waiting - a.taken, updated_at = a.at, due_at = a.due_at,
      settled = case when a.rests and s.head = a.base then s.head + a.count else s.settled end
  from asked a
  where s.key = a.key and s.owner = a.node and s.epoch = a.epoch
    and s.written <= a.base and a.base <= s.head
    and exists (select from nodes o where o.id = a.node and not o.buried)
-- with begins
    and (a.standing is null or a.standing = (select version from standing where one))
-- always
  returning a.n, s.key, s.head, s.head - a.count as before, s.settled, a.taken
), fate as (  -- where each operation's events begin; -1 for those that were refused
  select array_agg(before order by n) as before from (
    select n, max(before) as before
    from (select n, before from held union all select n, -1 from asked) each group by n
  ) numbered
), events as (
  insert into journal (key, position, kind, event, at)
  select e.key, f.before[e.n] + e.i, e.kind, e.event, e.at
  from fate f, unnest(
    %(e_n)s::bigint[], %(e_i)s::bigint[], %(e_key)s::text[], %(e_kind)s::text[],
    %(e_event)b::bytea[], %(e_at)s::float8[]
  ) as e (n, i, key, kind, event, at)
  where f.before[e.n] >= 0
-- with m_n
), transcript as (
  insert into messages (session, ordinal, role, at, line)
  select m.session, m.ordinal, m.role, m.at, m.line
  from fate f, unnest(
    %(m_n)s::bigint[], %(m_session)s::text[], %(m_ordinal)s::bigint[], %(m_role)s::text[],
    %(m_at)s::float8[], %(m_line)b::bytea[]
  ) as m (n, session, ordinal, role, at, line)
  where f.before[m.n] >= 0
  returning session, ordinal
), unfound as (
  insert into unread (session, ordinal) select session, ordinal from transcript
-- with r_n
), replies as (
  insert into outbox (id, key, platform, chat, reply, created_at, ordered)
  select r.id, r.key, r.platform, r.chat, r.reply, r.at, r.ordered
  from fate f, unnest(
    %(r_n)s::bigint[], %(r_id)s::text[], %(r_key)s::text[], %(r_platform)s::text[],
    %(r_chat)s::text[], %(r_reply)b::bytea[], %(r_at)s::float8[], %(r_ordered)s::boolean[]
  ) with ordinality as r (n, id, key, platform, chat, reply, at, ordered, i)
  where f.before[r.n] >= 0 order by r.i
  on conflict (id) do nothing
-- with t_n
), told as (  -- a turn that begins here begins later by the messages that came in between
  insert into turns (id, key, session, state, attempts, started_at, ended_at, first)
  select t.id, t.key, t.session, t.state, t.attempts, t.started_at, t.ended_at,
         case when t.first > t.base then t.first - t.base + f.before[t.n] else t.first end
  from fate f, unnest(
    %(t_n)s::bigint[], %(t_base)s::bigint[], %(t_id)s::text[], %(t_key)s::text[],
    %(t_session)s::text[], %(t_state)s::text[], %(t_attempts)s::bigint[],
    %(t_started)s::float8[], %(t_ended)s::float8[], %(t_first)s::bigint[]
  ) as t (n, base, id, key, session, state, attempts, started_at, ended_at, first)
  where f.before[t.n] >= 0
  on conflict (id) do update
  set state = excluded.state, attempts = excluded.attempts, ended_at = excluded.ended_at
-- with c_n
), opened as (
  insert into conversations (id, key, opened_at, title)
  select c.id, c.key, c.at, c.title
  from fate f, unnest(
    %(c_n)s::bigint[], %(c_id)s::text[], %(c_key)s::text[], %(c_at)s::float8[], %(c_title)s::text[]
  ) as c (n, id, key, at, title)
  where f.before[c.n] >= 0
  on conflict (id) do nothing
-- with x_n
), titled as (  -- the conversation that was current before: this statement sees it so
  update conversations c set title = x.title
  from fate f, unnest(%(x_n)s::bigint[], %(x_key)s::text[], %(x_title)s::text[])
    as x (n, key, title) join sessions s on s.key = x.key
  where f.before[x.n] >= 0 and c.id = s.id
-- with h_n
), settled_in as (
  insert into homes (key, position, platform, chat, thread, account, at)
  select h.key, f.before[h.n] + h.i, h.platform, h.chat, h.thread, h.account, h.at
  from fate f, unnest(
    %(h_n)s::bigint[], %(h_i)s::bigint[], %(h_key)s::text[], %(h_platform)s::text[],
    %(h_chat)s::text[], %(h_thread)s::text[], %(h_account)s::text[], %(h_at)s::float8[]
  ) as h (n, i, key, platform, chat, thread, account, at)
  where f.before[h.n] >= 0 order by h.n, h.i
-- with u_n
), accounted as (
  insert into usage (
    key, session, turn, position, ordinal, at, platform, person, model, purpose, input, output,
    cached, cache_written, reasoning, cost
  )
  select u.key, u.session, u.turn, f.before[u.n] + u.i, u.ordinal, u.at, u.platform, u.person,
         u.model, u.purpose, u.input, u.output, u.cached, u.cache_written, u.reasoning, u.cost
  from fate f, unnest(
    %(u_n)s::bigint[], %(u_i)s::bigint[], %(u_key)s::text[], %(u_session)s::text[],
    %(u_turn)s::text[], %(u_ordinal)s::bigint[], %(u_at)s::float8[], %(u_platform)s::text[],
    %(u_person)s::text[], %(u_model)s::text[], %(u_purpose)s::text[], %(u_input)s::bigint[],
    %(u_output)s::bigint[], %(u_cached)s::bigint[], %(u_cache_written)s::bigint[],
    %(u_reasoning)s::bigint[], %(u_cost)s::float8[]
  ) as u (
    n, i, key, session, turn, ordinal, at, platform, person, model, purpose, input, output,
    cached, cache_written, reasoning, cost
  )
  where f.before[u.n] >= 0
-- with k_n
), used as (
  insert into tool_calls (key, position, tool, outcome, at, seconds)
  select k.key, f.before[k.n] + k.i, k.tool, k.outcome, k.at, k.seconds
  from fate f, unnest(
    %(k_n)s::bigint[], %(k_i)s::bigint[], %(k_key)s::text[], %(k_tool)s::text[],
    %(k_outcome)s::text[], %(k_at)s::float8[], %(k_seconds)s::float8[]
  ) as k (n, i, key, tool, outcome, at, seconds)
  where f.before[k.n] >= 0
-- with q_n
), put as (
  insert into questions (
    id, key, turn, tool, preview, why, asked_at, expires_at, state, decided_by, decided_at
  )
  select q.id, q.key, q.turn, q.tool, q.preview, q.why, q.asked_at, q.expires_at, q.state,
         q.decided_by, q.decided_at
  from fate f, unnest(
    %(q_n)s::bigint[], %(q_id)s::text[], %(q_key)s::text[], %(q_turn)s::text[], %(q_tool)s::text[],
    %(q_preview)s::text[], %(q_why)s::text[], %(q_asked_at)s::float8[], %(q_expires_at)s::float8[],
    %(q_state)s::text[], %(q_decided_by)s::text[], %(q_decided_at)s::float8[]
  ) as q (
    n, id, key, turn, tool, preview, why, asked_at, expires_at, state, decided_by, decided_at
  )
  where f.before[q.n] >= 0
  on conflict (id) do nothing
-- with w_n
), decided as (
  update questions q
  set state = w.state, decided_by = coalesce(w.by, q.decided_by),
      decided_at = coalesce(w.at, q.decided_at)
  from fate f, unnest(
    %(w_n)s::bigint[], %(w_id)s::text[], %(w_state)s::text[], %(w_by)s::text[], %(w_at)s::float8[]
  ) as w (n, id, state, by, at)
  where f.before[w.n] >= 0 and q.id = w.id
-- with g_n
), allowed as (
  insert into grants (id, body, expires_at)
  select g.id, g.body, g.expires_at
  from fate f, unnest(
    %(g_n)s::bigint[], %(g_id)s::text[], %(g_body)b::bytea[], %(g_expires_at)s::float8[]
  ) as g (n, id, body, expires_at)
  where f.before[g.n] >= 0
  on conflict (id) do nothing
  returning id
), over_ as (  -- those that are new are not seen here
  delete from grants where expires_at <= %(g_now)s
    or n not in (select n from grants order by n desc limit %(g_most)s)
), changed as (
  update standing set version = version + (select count(*) from allowed) where one
-- with a_n
), logged as (  -- one that was refused spoils the batch, as the next are sealed over it: each alone
  insert into audit (chain, seq, kind, at, body, seal)
  select %(a_chain)s::text, a.seq, a.kind, a.at, a.body,
         case when f.before[a.n] >= 0 then a.seal end
  from fate f, unnest(
    %(a_n)s::bigint[], %(a_seq)s::bigint[], %(a_kind)s::text[], %(a_at)s::float8[],
    %(a_body)b::bytea[], %(a_seal)b::bytea[]
  ) as a (n, seq, kind, at, body, seal)
  where f.before[a.n] >= 0 or %(a_many)s order by a.seq
-- with p_n
), kept as (  -- no snapshot when a message came in between: its position differs
  insert into snapshots (key, position, state)
  select p.key, p.position, p.state
  from fate f, unnest(
    %(p_n)s::bigint[], %(p_key)s::text[], %(p_before)s::bigint[], %(p_position)s::bigint[],
    %(p_state)b::bytea[]
  ) as p (n, key, before, position, state)
  where f.before[p.n] = p.before
  on conflict (key) do update set position = excluded.position, state = excluded.state
-- with resting
), slept as (
  delete from awake w using held h where w.key = h.key and h.settled = h.head
-- with shard
), counted as (
  insert into tally (shard, sessions, waiting)
  select %(shard)s, 0, -sum(taken) from held having sum(taken) <> 0
  on conflict (shard) do update set waiting = tally.waiting + excluded.waiting
-- always
), roused as (
  insert into awake (key) select key from held where settled = before on conflict do nothing
)
select n, head from held

-- name: rest
with held as (
  update sessions s set settled = greatest(s.settled, least(a.position, s.head))
  from unnest(
    %(key)s::text[], %(node)s::text[], %(epoch)s::bigint[], %(position)s::bigint[]
  ) with ordinality as a (key, node, epoch, position, n)
  where s.key = a.key and s.owner = a.node and s.epoch = a.epoch
    and exists (select from nodes o where o.id = a.node and not o.buried)
  returning a.n, s.key, s.head, s.settled
), slept as (
  delete from awake w using held h where w.key = h.key and h.head = h.settled
)
select n, head from held

-- name: accept
-- The rows of the sessions are locked, so nobody else adds the same message meanwhile. One that
-- another lane adds at this moment is a unique violation, and the batch is sent again.
with asked as materialized (
  select * from unnest(
    %(account)s::text[], %(message)s::text[], %(key)s::text[], %(opens)s::text[],
    %(kind)s::text[], %(event)b::bytea[], %(event_at)s::float8[]
  ) with ordinality as a (account, message, key, opens, kind, event, event_at, n)
), fresh as (
  select distinct on (account, message) * from asked a
  where not exists (select from inbox i where i.account = a.account and i.message = a.message)
  order by account, message, n
), placed as materialized (
  select f.*, s.head, s.head + row_number() over (partition by f.key order by f.n) as position
  from fresh f join sessions s on s.key = f.key
), lanes as materialized (
  select key, count(*) as count, min(n) as first from placed group by key
), noted as (
  insert into inbox (account, message, key, position)
  select account, message, key, position from placed order by account, message
), events as (
  insert into journal (key, position, kind, event, at)
  select key, position, kind, event, event_at from placed
), moved as (
  update sessions s
  set head = s.head + l.count, waiting = s.waiting + l.count, updated_at = %(now)s,
      declined = null,
      id = case when s.head = 0 then (%(opens)s::text[])[l.first] else s.id end,
      created_at = case when s.head = 0 then %(now)s else s.created_at end
  from lanes l where s.key = l.key
), opened as (
  insert into conversations (id, key, opened_at)
  select opens, key, event_at from placed where position = 1
  on conflict (id) do nothing
-- with d_n
), named as (
  select distinct on (d.platform, d.chat, d.thread, d.account, p.key) d.*, p.key, p.event_at
  from unnest(
    %(d_n)s::bigint[], %(d_platform)s::text[], %(d_chat)s::text[], %(d_thread)s::text[],
    %(d_account)s::text[], %(d_name)s::text[]
  ) as d (n, platform, chat, thread, account, name) join placed p on p.n = d.n
  order by d.platform, d.chat, d.thread, d.account, p.key, d.n desc
), listed as (  -- seldom: a directory that is right up to the hour is only looked at
  insert into chats (platform, chat, thread, account, key, name, seen_at)
  select d.platform, d.chat, d.thread, d.account, d.key, d.name, d.event_at
  from (
    select *, count(*) over (partition by platform, chat, thread, account) as lanes from named
  ) d
  where d.lanes > 1 or not exists (
    select from (
      select c.key, c.name, c.seen_at from chats c
      where c.platform = d.platform and c.chat = d.chat and c.thread = d.thread
        and c.account = d.account
      order by c.n desc limit 1
    ) last
    where last.key = d.key and last.name = d.name and d.event_at <= last.seen_at + 3600
  )
  order by d.n
  on conflict (platform, chat, thread, account, key) do update
  set name = excluded.name, n = excluded.n, seen_at = greatest(chats.seen_at, excluded.seen_at)
-- always
), roused as (
  insert into awake (key) select key from lanes on conflict do nothing
), counted as (
  insert into tally (shard, sessions, waiting)
  select %(shard)s, count(*) filter (where position = 1), count(*)
  from placed having count(*) > 0
  on conflict (shard) do update
  set sessions = tally.sessions + excluded.sessions, waiting = tally.waiting + excluded.waiting
)
select n from placed

-- name: seen
select a.n, i.key, i.position
from unnest(%(account)s::text[], %(message)s::text[]) with ordinality as a (account, message, n)
join inbox i on i.account = a.account and i.message = a.message

-- name: tell
-- Wake the owners of these sessions, everybody for those that nobody alive owns, whoever sends to
-- these platforms, and chats that may wait for an answer. Once a batch; and a process wakes itself
-- without us, so alone on a database nobody is told anything.
select pg_notify('hermes', w.who) from (
  select coalesce(o.id, '*') as who
  from sessions s left join nodes o on o.id = s.owner and not o.buried
  where s.key = any(%(keys)s::text[]) and o.token is distinct from %(token)s
  union select '>' || p from unnest(%(platforms)s::text[]) as p
  union select '!' where %(answered)s and exists (
    select from nodes o where not o.buried and o.token <> %(token)s and o.seat = ''
  )
) w
where exists (select from nodes o where not o.buried and o.token <> %(token)s)

-- name: sending
update outbox o
set state = 'sending', node = a.node, behind = a.behind
from unnest(
  %(id)s::text[], %(node)s::text[], %(again)s::boolean[], %(behind)s::text[], %(chunk)s::bigint[],
  %(mine)s::boolean[]
) with ordinality as a (id, node, again, behind, chunk, mine, n)
where o.id = a.id and o.chunks = a.chunk
  and exists (select from nodes x where x.id = a.node and not x.buried)
  and (o.state = 'sending' and a.again and o.node = a.node
       or (o.state in ('pending', 'failed')
             and (o.not_before <= %(now)s or o.not_before > %(now)s + 86400)
           or o.state = 'sending' and (a.mine and o.node = a.node
             or not exists (select from nodes x where x.id = o.node and not x.buried)))
          and not exists (
            select from pauses p where p.platform = o.platform and p.chat = o.chat
              and p.until > %(now)s and p.until <= %(now)s + 86400
          ))
returning a.n

-- name: noted
-- `node` is who took the row in hand: if another one has it now, the late word of this one is void.
update outbox o
set state = coalesce(a.state, o.state), chunks = coalesce(a.chunks, o.chunks),
    receipt = coalesce(a.receipt, o.receipt), why = coalesce(a.why, o.why),
    not_before = coalesce(a.not_before, o.not_before), sent_at = coalesce(a.at, o.sent_at),
    attempts = o.attempts + a.counts::int
from unnest(
  %(id)s::text[], %(node)s::text[], %(state)s::text[], %(chunks)s::bigint[], %(receipt)s::text[],
  %(why)s::text[], %(not_before)s::float8[], %(at)s::float8[], %(counts)s::boolean[]
) as a (id, node, state, chunks, receipt, why, not_before, at, counts)
where o.id = a.id and o.state <> 'delivered' and (a.node is null or o.node = a.node)
  and (o.state <> 'abandoned' or a.state not in ('failed', 'pending'))  -- who was sent away stays so

-- name: fences
-- For operations that were refused: is it the fence, or had the writer not seen everything?
select a.n, s.head, s.written <= a.base and a.base <= s.head
from unnest(%(key)s::text[], %(node)s::text[], %(epoch)s::bigint[], %(base)s::bigint[])
  with ordinality as a (key, node, epoch, base, n)
join sessions s on s.key = a.key and s.owner = a.node and s.epoch = a.epoch
where exists (select from nodes o where o.id = a.node and not o.buried)
