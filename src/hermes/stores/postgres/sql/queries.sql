Everything that is not part of the group commit: reads, and the few writes that stand alone.

-- name: claim
with free as (
  select s.key from awake a join sessions s on s.key = a.key
  where (s.owner is null or not exists (select from nodes o where o.id = s.owner and not o.buried))
    and s.declined is distinct from %(node)s
  order by s.updated_at limit %(limit)s
  for update of s skip locked
)
update sessions s set owner = %(node)s, declined = null, epoch = greatest(s.epoch + 1, nextval('epochs'))
from free where s.key = free.key
returning s.key, s.epoch, s.updated_at

-- name: claim_one
update sessions s
set owner = %(node)s, declined = null,
    epoch = case when s.owner = %(node)s then s.epoch
                 else greatest(s.epoch + 1, nextval('epochs')) end
where s.key = %(key)s
  and (s.owner is null or s.owner = %(node)s
       or not exists (select from nodes o where o.id = s.owner and not o.buried))
returning s.key, s.epoch

-- name: owned
select s.key, s.epoch, s.head from awake a join sessions s on s.key = a.key
where s.owner = %(node)s order by s.updated_at limit %(limit)s

-- name: release
with given as (
  update sessions s set owner = null where s.key = any(%(keys)s::text[]) and s.owner = %(node)s
  returning s.key
)
select pg_notify('hermes', '*') where exists (select from given join awake using (key))

-- name: decline
with given as (
  update sessions s set owner = null, declined = %(node)s
  where s.key = %(key)s and s.owner = %(node)s and s.epoch = %(epoch)s and s.head = %(position)s
  returning s.key
), told as (
  select pg_notify('hermes', '*') from given
)
select count(*) from told

-- name: load
select p.state, array(
  select j.event from journal j
  where j.key = %(key)s and j.position > coalesce(p.position, 0) order by j.position
)
from (select 1) one left join snapshots p on p.key = %(key)s

-- name: abandon
-- What is shown as open of a conversation that was left because it cannot be read.
with held as (
  select s.key, s.waiting as before, %(waiting)s + s.head - %(position)s as after
  from sessions s where s.key = %(key)s and s.owner = %(node)s and s.epoch = %(epoch)s for update
), counted as (
  insert into tally (shard, sessions, waiting)
  select %(shard)s, 0, after - before from held where after <> before
  on conflict (shard) do update set waiting = tally.waiting + excluded.waiting
), turns_ as (
  update turns set state = 'failed', ended_at = %(at)s
  where key in (select key from held) and state not in ('answered', 'failed', 'stopped')
), questions_ as (
  delete from questions where key in (select key from held) and state = 'pending'
)
update sessions s set phase = 'idle', mark = '', runs = 0, due_at = 0, waiting = h.after
from held h where s.key = h.key returning s.key

-- name: since
select event from journal where key = %(key)s and position > %(position)s
order by position limit %(limit)s

-- name: lines
select m.line
from unnest(%(session)s::text[], %(start)s::bigint[], %(stop)s::bigint[])
  with ordinality as a (session, start, stop, n)
join messages m on m.session = a.session and m.ordinal >= a.start
  and (a.stop is null or m.ordinal < a.stop)
order by a.n, m.ordinal

-- name: join
insert into nodes (id, token, started_at, seat)
values (%(node)s, %(token)s, %(at)s, %(seat)s)
on conflict (id) do update
set token = excluded.token, beats = nodes.beats + 1, server = pg_postmaster_start_time(),
    seen_at = now(), seat = excluded.seat
where not nodes.buried and nodes.token = excluded.token
returning id

-- name: forget_nodes
-- Chats come and go and must not push a gateway's boots out, nor one gateway those of another.
delete from nodes o using (
  select id, row_number() over (partition by seat order by n desc) as nth,
         row_number() over (order by n desc) as nth_of_all
  from nodes where buried
) r
where o.id = r.id
  and (r.nth > case when o.seat = '' then %(chats)s else %(boots)s end or r.nth_of_all > %(all)s)

-- name: boots
select id, started_at, buried, departed from nodes
where seat = %(seat)s and seat <> '' order by n desc limit %(limit)s

-- name: holder
select h.node from holds h join nodes o on o.id = h.node and not o.buried where h.name = %(name)s

-- name: lock_holds
lock table holds in share row exclusive mode

-- name: hold
-- Under the lock: who joined and took it just before is seen.
insert into holds (name, node)
select %(name)s, o.id from nodes o where o.id = %(node)s and not o.buried
on conflict (name) do update set node = excluded.node
where holds.node = excluded.node
   or not exists (select from nodes o where o.id = holds.node and not o.buried)
returning name

-- name: alive
select from nodes where id = %(node)s and not buried

-- name: beat
update nodes set beats = beats + 1, server = pg_postmaster_start_time(), seen_at = now()
where id = %(node)s and not buried
returning id

-- name: others
select id, beats from nodes where not buried and token <> %(token)s

-- name: bury_gone
-- The process is gone when none of its connections is left. After a restart of the server that
-- says nothing until the process had the time to come back: then only its lease counts.
with gone as (
  update nodes o set buried = true
  where not o.buried and o.token <> %(token)s and o.server = pg_postmaster_start_time()
    and not exists (
      select from pg_stat_activity a where a.application_name = 'hermes-' || o.token
    )
  returning o.id
)
select id, pg_notify('hermes', '*') from gone

-- name: bury_silent
-- Its connections are cut too: one that was stopped in the middle of a batch would hold its locks.
with silent as (
  update nodes o set buried = true
  from unnest(%(id)s::text[], %(beats)s::bigint[]) as a (id, beats)
  where o.id = a.id and o.beats = a.beats and not o.buried and o.token <> %(token)s
  returning o.token
)
select pg_notify('hermes', '*'), (
  select count(pg_terminate_backend(a.pid)) from pg_stat_activity a
  where a.application_name = 'hermes-' || s.token and a.usename = current_user
) from silent s

-- name: leave
with left_ as (
  update nodes set buried = true, departed = true where id = %(node)s and not buried
  returning id
)
select pg_notify('hermes', '*') from left_

-- name: due
-- A wait that lies more than a day ahead was counted before a clock was set back. What was made
-- earlier for the same chat goes first, even when it has to wait for its next try.
with waiting as materialized (
  select o.*,
    (o.state in ('pending', 'failed')
        and (o.not_before <= %(now)s or o.not_before > %(now)s + 86400)
     or o.state = 'sending' and (o.node is not distinct from %(mine)s
        or not exists (select from nodes x where x.id = o.node and not x.buried)))
    and not exists (
      select from pauses p where p.platform = o.platform and p.chat = o.chat
        and p.until > %(now)s and p.until <= %(now)s + 86400
    ) as due
  from outbox o
  where o.state in ('pending', 'failed', 'sending')
    and o.platform = any(%(platforms)s::text[])
    and (%(only)s::text is null or o.key = %(only)s)
), ranked as (
  select w.*, bool_and(w.due or not w.ordered) over (
    partition by w.key, w.platform, w.chat order by w.n
  ) as free
  from waiting w
)
select reply, state, attempts, chunks, created_at, receipt, why, behind from ranked r
where r.due and (r.free or not r.ordered)
order by r.n limit %(limit)s

-- name: at_once
update outbox set not_before = 0
where state = 'failed' and not_before > 0 and platform = any(%(platforms)s::text[])

-- name: outbox_rows
select reply, state, attempts, chunks, created_at, receipt, why, behind from outbox
where key = %(key)s order by n desc limit %(limit)s

-- name: has_receipt
select exists (
  select from outbox where platform = %(platform)s and chat = %(chat)s and receipt = %(receipt)s
)

-- name: cards
select reply from outbox
where platform = %(platform)s and chat = %(chat)s and position('"buttons":'::bytea in reply) > 0
order by n desc limit %(limit)s

-- name: pause
with over as (
  delete from pauses where ctid = any (array(
    select ctid from pauses
    where (until <= %(now)s or until > %(now)s + 86400)
      and (platform, chat) <> (%(platform)s, %(chat)s)
    for update skip locked
  ))
)
insert into pauses (platform, chat, until) values (%(platform)s, %(chat)s, %(until)s)
on conflict (platform, chat) do update
set until = case when pauses.until > %(now)s + 86400 then excluded.until
                 else greatest(pauses.until, excluded.until) end

-- name: waits
select platform, chat, until from pauses
where until > %(now)s and until <= %(now)s + 86400

-- name: sessions
select key, id, phase, mark, runs, waiting, title, created_at, updated_at, head, rows
from sessions
where head > 0 and (%(before)s::float8 is null or updated_at < %(before)s)
order by updated_at desc, key limit %(limit)s

-- name: find
select s.key, s.id, s.phase, s.mark, s.runs, s.waiting, s.title, s.created_at, s.updated_at,
       s.head, s.rows
from sessions s
where s.head > 0 and (s.key = %(name)s or s.key = (
  select c.key from conversations c where c.id = %(name)s
))
order by s.key = %(name)s desc limit 1

-- name: find_prefix
select s.key, s.id, s.phase, s.mark, s.runs, s.waiting, s.title, s.created_at, s.updated_at,
       s.head, s.rows
from sessions s
where s.head > 0 and s.key in (
  select c.key from conversations c where starts_with(c.id, %(name)s) limit 100
)
limit 2

-- name: in_phase
select key, id, phase, mark, runs, waiting, title, created_at, updated_at, head, rows
from sessions
where phase = %(phase)s and phase <> 'idle'
order by updated_at desc, key limit %(limit)s

-- name: lane_conversations
select id from conversations where key = %(key)s

-- name: latest_conversations
select c.id from conversations c cross join lateral (
  select m.at from messages m where m.session = c.id order by m.ordinal desc limit 1
) last
order by last.at desc, c.opened_at desc, c.id limit %(limit)s

-- name: conversations
-- A row's ordinal counts from 0, without gaps.
select c.id, c.key, c.title, c.rows, c.at, (
  select m.line from messages m
  where m.session = c.id and m.role = 'user' order by m.ordinal limit 1
)
from (
  select c.id, c.key, c.title, c.opened_at, last.ordinal + 1 as rows, last.at
  from conversations c cross join lateral (
    select m.ordinal, m.at from messages m
    where m.session = c.id order by m.ordinal desc limit 1
  ) last
  where c.id = any(%(ids)s::text[])
  order by last.at desc, c.opened_at desc, c.id limit %(limit)s
) c
order by c.at desc, c.opened_at desc, c.id

-- name: chats
select platform, chat, thread, account, name, key, seen_at from (
  select distinct on (platform, chat, thread, account) * from chats
  order by platform, chat, thread, account, n desc
) last
order by seen_at desc, n desc limit %(limit)s

-- name: homes
select platform, chat, thread, account, at from (
  select distinct on (platform) * from homes order by platform, n desc
) last
order by n desc

-- name: totals
select coalesce(sum(sessions), 0)::bigint, coalesce(sum(waiting), 0)::bigint from tally

-- name: phases
select phase, mark, count(*) from sessions
where phase in ('running', 'asking', 'suspended') group by phase, mark

-- name: outbox_states
select state, count(*), min(created_at) from outbox
where state in ('pending', 'failed', 'sending') group by state
union all
select 'abandoned', count(*), null from outbox where state = 'abandoned' having count(*) > 0

-- name: turns
select id, key, session, state, attempts, started_at, ended_at, first from turns
where %(key)s::text is null or key = %(key)s
order by started_at desc, id desc limit %(limit)s

-- name: turn
select id, key, session, state, attempts, started_at, ended_at, first from turns
where id = %(turn)s

-- name: is_unread
select exists (select from unread)

-- name: unread
-- Another process that reads at the same time takes other rows.
with taken as (
  delete from unread where ctid = any (array(
    select ctid from unread limit %(limit)s for update skip locked
  ))
  returning session, ordinal
)
select m.session, m.ordinal, m.at, c.key, m.line
from taken join messages m using (session, ordinal) join conversations c on c.id = m.session

-- name: read
insert into words (session, ordinal, at, words)
select a.session, a.ordinal, a.at, a.words::tsvector
from unnest(%(session)s::text[], %(ordinal)s::bigint[], %(at)s::float8[], %(words)s::text[])
  as a (session, ordinal, at, words)
on conflict (session, ordinal) do update set at = excluded.at, words = excluded.words

-- name: search
-- The newest rows one by one; only when too few of them fit, the index, whose matches come in no
-- order: of a word that stands everywhere among old rows it gives so many and no more.
with shown as not materialized (
  select * from words w where not exists (
    select from unnest(%(session)s::text[], %(start)s::bigint[], %(stop)s::bigint[])
      as h (session, start, stop)
    where h.session = w.session and w.ordinal >= h.start and w.ordinal < h.stop
  )
), newest as materialized (
  select * from (select * from shown order by at desc limit %(newest)s) w
  where w.words @@ %(query)s::tsquery limit %(candidates)s
), older as materialized (
  select * from shown w
  where (select count(*) from newest) < %(candidates)s and w.words @@ %(query)s::tsquery
  limit %(older)s
), candidates as (
  select * from newest
  union all
  select * from older o
  where not exists (
    select from newest n where n.session = o.session and n.ordinal = o.ordinal
  )
), best as (
  select session, ordinal, at, ts_rank(words, %(query)s::tsquery, 1) as rank from (
    select * from candidates order by at desc, session, ordinal desc limit %(candidates)s
  ) c
  order by rank desc, at desc, session, ordinal desc limit %(limit)s
)
select c.key, m.session, m.ordinal, m.line
from best b join messages m using (session, ordinal) join conversations c on c.id = m.session
order by b.rank desc, b.at desc, m.session, m.ordinal desc

-- name: cursor
select text from cursors
where platform = %(platform)s and account = %(account)s and name = %(name)s

-- name: move_cursor
-- The lock makes who buries this node wait: a dead node's position never replaces its successor's.
insert into cursors (platform, account, name, text)
select %(platform)s, %(account)s, %(name)s, %(text)s from nodes o
where o.id = %(node)s and not o.buried for share of o
on conflict (platform, account, name) do update set text = excluded.text
returning name

-- name: remove_cursor
with alive as (select o.id from nodes o where o.id = %(node)s and not o.buried for share of o),
gone as (
  delete from cursors using alive
  where platform = %(platform)s and account = %(account)s and name = %(name)s
)
select id from alive

-- name: keep_text
insert into texts (digest, text) values (%(digest)s, %(text)s) on conflict do nothing

-- name: text
select text from texts where digest = %(digest)s

-- name: usage
-- Each dimension in one pass; `of` says which one a row is of.
with sums as (
  select grouping(day, purpose, platform, key, person) as of, day, purpose, platform, key, person,
         model, count(*) as calls, sum(input) as input, sum(output) as output,
         sum(cached) as cached, sum(cache_written) as cache_written, sum(reasoning) as reasoning,
         sum(cost) as cost
  from (
    select floor(at / 86400)::bigint as day, *, cost is not null as priced from usage
    where at >= %(since)s and at < %(until)s
  ) u
  group by model, priced, grouping sets ((day), (), (purpose), (platform), (key), (person))
), ranked as (
  select *, row_number() over (
    partition by of
    order by input + output desc, day, purpose, platform, key, person, model, cost is not null
  ) as nth
  from sums
)
select by, case by when 'day' then to_char(to_timestamp(day * 86400), 'YYYY-MM-DD')
                   when 'model' then model when 'purpose' then purpose
                   when 'platform' then platform when 'session' then key else person end,
       model, calls, input::bigint, output::bigint, cached::bigint, cache_written::bigint,
       reasoning::bigint, cost
from ranked join (values (15, 'day', 1), (31, 'model', 2), (23, 'purpose', 3),
                         (27, 'platform', 4), (29, 'session', 5), (30, 'person', 6))
  as d (of, by, place) using (of)
where nth <= %(limit)s order by place, nth

-- name: tools
select tool, count(*), count(*) filter (where outcome not in ('ok', 'stopped')), count(seconds),
       coalesce(sum(seconds), 0)::float8
from tool_calls where at >= %(since)s and at < %(until)s
group by tool order by 2 desc, 1 limit %(limit)s

-- name: spent
select 'model', model, model, count(*), sum(input)::bigint, sum(output)::bigint,
       sum(cached)::bigint, sum(cache_written)::bigint, sum(reasoning)::bigint, sum(cost)
from usage
where at >= %(since)s and (%(key)s::text is null or key = %(key)s)
  and (%(conversation)s::text is null or session = %(conversation)s)
  and (%(person)s::text is null or person = %(person)s)
group by model, cost is not null order by model limit 1000

-- name: questions
select id, key, turn, tool, preview, why, asked_at, expires_at, state, decided_by, decided_at
from questions where not %(pending)s or state = 'pending'
order by asked_at desc, id desc limit %(limit)s

-- name: question
select id, key, turn, tool, preview, why, asked_at, expires_at, state, decided_by, decided_at
from questions where id = %(id)s

-- name: overdue
select key from sessions where due_at > 0 and due_at <= %(now)s order by due_at limit %(limit)s

-- name: version
select version from standing where one

-- name: people
select platform, id, role, name, chat, since, by from people

-- name: person
select platform, id, role, name, chat, since, by from people
where platform = %(platform)s and id = %(id)s

-- name: grants
select body from grants where expires_at > %(now)s order by n desc

-- name: know
insert into people (platform, id, role, name, chat, since, by)
values (%(platform)s, %(id)s, %(role)s, %(name)s, %(chat)s, %(since)s, %(by)s)
on conflict (platform, id) do update
set role = excluded.role, name = excluded.name, chat = excluded.chat, since = excluded.since,
    by = excluded.by

-- name: settled
delete from requests where platform = %(platform)s and person = %(id)s

-- name: changed
select changed()

-- name: tell_all
select pg_notify('hermes', '*')

-- name: end_invites
delete from invites where expires_at <= %(now)s

-- name: invite
insert into invites (digest, role, made_at, expires_at, by)
values (%(digest)s, %(role)s, %(made_at)s, %(expires_at)s, %(by)s)
on conflict (digest) do update
set role = excluded.role, made_at = excluded.made_at, expires_at = excluded.expires_at,
    by = excluded.by, used_at = null

-- name: redeem
update invites set used_at = %(at)s
where digest = %(digest)s and used_at is null and expires_at > %(at)s
  and made_at <= %(at)s + 3600 -- later: a clock was set back since, and its time means nothing
returning role, by

-- name: ask
insert into requests (id, platform, person, chat, name, text, at)
values (%(id)s, %(platform)s, %(person)s, %(chat)s, %(name)s, %(text)s, %(at)s)
on conflict do nothing
returning id

-- name: crowd
delete from requests where n not in (select n from requests order by n desc limit %(most)s)

-- name: requests
select id, platform, person, chat, name, text, at from requests order by n

-- name: take_request
delete from requests
where id = %(request)s and (%(id)s::text is null or (platform, person) = (%(platform)s, %(id)s))
returning platform, person

-- name: unsend
update outbox set state = 'abandoned', why = %(why)s
where state in ('pending', 'sending', 'failed') and platform = %(platform)s
  and chat = any(%(chats)s::text[])

-- name: end_grant
delete from grants where id = %(id)s returning body

-- name: lock_audit
select pg_advisory_xact_lock(%(lock)s)

-- name: audit_last
select seq, seal from audit where chain = %(chain)s order by seq desc limit 1

-- name: audit_add
insert into audit (chain, seq, kind, at, body, seal)
values (%(chain)s, %(seq)s, %(kind)s, %(at)s, %(body)b, %(seal)b)

-- name: audit_is
select from audit where chain = %(chain)s and seq = %(seq)s and seal = %(seal)b

-- name: audit_entries
select chain, seq, kind, at, body, seal from audit
where at >= %(since)s and (%(session)b::bytea is null or position(%(session)b::bytea in body) > 0)
order by n desc limit %(limit)s

-- name: audit_all
select chain, seq, kind, at, body, seal from audit order by chain, seq

-- name: audit_heads
select distinct on (chain) chain, seq, seal from audit order by chain, seq desc

-- name: audit_old
-- The beginning of each chain, up to where something young stands in it.
with floors as materialized (
  select chain, coalesce(min(seq) filter (where at >= %(before)s), max(seq) + 1) as seq
  from audit group by chain
)
select a.chain, a.seq, a.seal from audit a join floors f on f.chain = a.chain and a.seq < f.seq
order by a.chain, a.seq limit %(limit)s

-- name: audit_checkpoint
select kind, at, body from audit where kind = 'checkpoint' order by n desc limit 1

-- name: audit_pruning
select set_config('hermes.pruning', 'on', true)

-- name: audit_cut
delete from audit a using unnest(%(chain)s::text[], %(upto)s::bigint[]) as c (chain, upto)
where a.chain = c.chain and a.seq <= c.upto

-- name: put_job
insert into jobs (id, key, state, made_at, cursor, due_at, body)
values (%(id)s, %(key)s, %(state)s, %(made_at)s, %(cursor)s, %(due_at)s::float8, %(body)b)
on conflict (id) do update
set key = excluded.key, state = excluded.state, made_at = excluded.made_at,
    cursor = excluded.cursor, due_at = excluded.due_at, body = excluded.body

-- name: job
select body from jobs where id = %(id)s

-- name: lock_job
-- The row of the session is the lock: a job that is made here has no row of its own yet.
select s.head, s.settled, j.body
from sessions s left join jobs j on j.key = s.key and j.id = %(id)s
where s.key = %(key)s for update of s

-- name: open_job
insert into sessions (key, id) values (%(key)s, %(opens)s) on conflict (key) do nothing

-- name: write_job
-- A session that rests does so behind this event, too: nothing in it is for a turn.
with moved as (
  update sessions
  set head = head + 1, settled = case when settled = head then head + 1 else settled end,
      updated_at = %(now)s, created_at = case when head = 0 then %(now)s else created_at end
  where key = %(key)s returning key, head
), opened as (
  insert into conversations (id, key, opened_at)
  select %(opens)s, key, %(at)s from moved where head = 1 on conflict (id) do nothing
), counted as (
  insert into tally (shard, sessions, waiting) select %(shard)s, 1, 0 from moved where head = 1
  on conflict (shard) do update set sessions = tally.sessions + excluded.sessions
)
insert into journal (key, position, kind, event, at)
select key, head, %(kind)s, %(event)b, %(at)s from moved

-- name: jobs
select body from jobs where state <> 'removed' or %(removed)s order by made_at, id limit %(limit)s

-- name: due_jobs
select body from jobs where due_at <= %(now)s order by due_at, id limit %(limit)s

-- name: jobs_ahead
select body from jobs where state = 'active' and cursor > %(now)s order by id limit %(limit)s

-- name: next_due
select min(due_at) from jobs where due_at is not null
