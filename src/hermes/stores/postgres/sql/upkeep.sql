Care of the whole: removing, rebuilding, checking, copying.

-- name: delete
-- Not while a living node is at work on it. What an owner still holds of it is fenced from here on.
with doomed as (
  delete from sessions s
  where s.key = %(key)s and not (
    exists (select from awake a where a.key = s.key)
    and exists (select from nodes o where o.id = s.owner and not o.buried)
  )
  returning s.key, s.head, s.waiting
), counted as (
  insert into tally (shard, sessions, waiting)
  select %(shard)s, -1, -waiting from doomed where head > 0
  on conflict (shard) do update
  set sessions = tally.sessions + excluded.sessions, waiting = tally.waiting + excluded.waiting
), ids as materialized (
  select id from conversations where key in (select key from doomed)
), awake_ as (delete from awake where key in (select key from doomed)
), journal_ as (delete from journal where key in (select key from doomed)
), inbox_ as (delete from inbox where key in (select key from doomed)
), snapshots_ as (delete from snapshots where key in (select key from doomed)
), outbox_ as (delete from outbox where key in (select key from doomed)
), turns_ as (delete from turns where key in (select key from doomed)
), homes_ as (delete from homes where key in (select key from doomed)
), chats_ as (delete from chats where key in (select key from doomed)
), tool_calls_ as (delete from tool_calls where key in (select key from doomed)
), questions_ as (delete from questions where key in (select key from doomed)
), jobs_ as (delete from jobs where key in (select key from doomed)
), usage_ as (  -- what it cost stays, without a word about whose it was
  update usage set key = '', session = '', turn = '', position = 0, ordinal = 0
  where key in (select key from doomed)
), messages_ as (delete from messages where session in (select id from ids)
), unread_ as (delete from unread where session in (select id from ids)
), words_ as (delete from words where session in (select id from ids)
), conversations_ as (delete from conversations where key in (select key from doomed)
)
select key from doomed

-- name: adopt
-- Lanes whose row was lost; their events are still there.
insert into sessions (key, id)
select distinct j.key, '' from journal j
where not exists (select from sessions s where s.key = j.key)
order by j.key
on conflict (key) do nothing

-- name: orphans
with turns_ as (delete from turns where key not in (select key from sessions)
), homes_ as (delete from homes where key not in (select key from sessions)
), chats_ as (delete from chats where key not in (select key from sessions)
), tool_calls_ as (delete from tool_calls where key not in (select key from sessions)
), questions_ as (delete from questions where key not in (select key from sessions)
), jobs_ as (delete from jobs where key not in (select key from sessions)
), usage_ as (delete from usage where key <> '' and key not in (select key from sessions)
), conversations_ as (delete from conversations where key not in (select key from sessions))
delete from messages where session not in (
  select c.id from conversations c join sessions s on s.key = c.key
)

-- name: orphan_words
delete from words where session not in (
  select c.id from conversations c join sessions s on s.key = c.key
)

-- name: keys
select key from sessions where key > %(after)s order by key limit %(limit)s

-- name: hold
select head from sessions where key = %(key)s for update

-- name: wipe
with ids as materialized (
  select id from conversations where key = %(key)s union select unnest(%(ids)s::text[])
), messages_ as (delete from messages where session in (select id from ids)
), unread_ as (delete from unread where session in (select id from ids)
), words_ as (delete from words where session in (select id from ids)
), turns_ as (delete from turns where key = %(key)s
), tool_calls_ as (delete from tool_calls where key = %(key)s
), questions_ as (delete from questions where key = %(key)s
), jobs_ as (delete from jobs where key = %(key)s
), usage_ as (delete from usage where key = %(key)s)
delete from conversations where key = %(key)s or id = any(%(ids)s::text[])

-- name: put_conversation
insert into conversations (id, key, opened_at, title)
values (%(id)s, %(key)s, %(at)s, %(title)s)
on conflict (id) do nothing

-- name: wipe_homes
delete from homes where key = %(key)s and position <> all(%(positions)s::bigint[])

-- name: put_home
-- Those that are there keep their place in the order.
insert into homes (key, position, n, platform, chat, thread, account, at)
values (%(key)s, %(position)s, %(n)s, %(platform)s, %(chat)s, %(thread)s, %(account)s, %(at)s)
on conflict (key, position) do update
set platform = excluded.platform, chat = excluded.chat, thread = excluded.thread,
    account = excluded.account, at = excluded.at

-- name: wipe_chats
delete from chats c where c.key = %(key)s and not exists (
  select from unnest(%(platform)s::text[], %(chat)s::text[], %(thread)s::text[], %(account)s::text[])
    as a (platform, chat, thread, account)
  where (a.platform, a.chat, a.thread, a.account) = (c.platform, c.chat, c.thread, c.account)
)

-- name: put_chat
-- One that is there keeps its place in the order, and its time if that is right up to the hour.
insert into chats (platform, chat, thread, account, key, n, name, seen_at)
values (%(platform)s, %(chat)s, %(thread)s, %(account)s, %(key)s, %(n)s, %(name)s, %(at)s)
on conflict (platform, chat, thread, account, key) do update
set name = excluded.name, seen_at = excluded.seen_at
where chats.name <> excluded.name
   or chats.seen_at not between excluded.seen_at - 3600 and excluded.seen_at

-- name: lock_tally
-- Whoever changes a session adds its part behind this lock, or is seen by what is counted under it.
lock table tally in exclusive mode

-- name: wipe_tally
delete from tally

-- name: count_again
insert into tally
select 0, count(*), coalesce(sum(waiting), 0) from sessions where head > 0

-- name: put_message
with unfound as (insert into unread (session, ordinal) values (%(session)s, %(ordinal)s))
insert into messages (session, ordinal, role, at, line)
values (%(session)s, %(ordinal)s, %(role)s, %(at)s, %(line)b)

-- name: put_turn
insert into turns (id, key, session, state, attempts, started_at, ended_at, first)
values (%(id)s, %(key)s, %(session)s, %(state)s, %(attempts)s, %(started)s, %(ended)s, %(first)s)

-- name: put_usage
insert into usage (
  key, session, turn, position, ordinal, at, platform, person, model, purpose, input, output,
  cached, cache_written, reasoning, cost
)
values (
  %(key)s, %(session)s, %(turn)s, %(position)s, %(ordinal)s, %(at)s, %(platform)s, %(person)s,
  %(model)s, %(purpose)s, %(input)s, %(output)s, %(cached)s, %(cache_written)s, %(reasoning)s,
  %(cost)s
)

-- name: put_call
insert into tool_calls (key, position, tool, outcome, at, seconds)
values (%(key)s, %(position)s, %(tool)s, %(outcome)s, %(at)s, %(seconds)s)

-- name: put_question
insert into questions (
  id, key, turn, tool, preview, why, asked_at, expires_at, state, decided_by, decided_at
)
values (
  %(id)s, %(key)s, %(turn)s, %(tool)s, %(preview)s, %(why)s, %(asked_at)s, %(expires_at)s, %(state)s,
  %(decided_by)s, %(decided_at)s
)
on conflict (id) do nothing

-- name: put_summary
update sessions
set id = %(id)s, head = %(head)s, written = %(written)s, phase = %(phase)s, mark = %(mark)s,
    runs = %(runs)s, waiting = %(waiting)s, title = %(title)s, rows = %(rows)s,
    due_at = %(due_at)s
where key = %(key)s

-- name: put_snapshot
insert into snapshots (key, position, state) values (%(key)s, %(position)s, %(state)b)
on conflict (key) do update set position = excluded.position, state = excluded.state

-- name: put_awake
with slept as (
  delete from awake where key = %(key)s
    and exists (select from sessions where key = %(key)s and head <= settled)
)
insert into awake (key) select key from sessions where key = %(key)s and head > settled
on conflict do nothing

-- name: problems
with counted as materialized (
  select key, count(*) as events, min(position) as first, max(position) as last
  from journal group by key
)
select s.key || ': the journal has a gap' as problem
from counted c join sessions s using (key) where c.first <> 1 or c.last <> c.events
union all
select coalesce(s.key, c.key) || ': the head is not the last event'
from counted c full join sessions s using (key)
where coalesce(s.head, -1) <> coalesce(c.last, 0)
union all
select s.key || ': it is ' || case when a.key is null then 'not ' else '' end
       || 'among the sessions with something to do'
from sessions s left join awake a using (key) where (a.key is not null) <> (s.head > s.settled)
union all
select i.account || '#' || i.message || ': received, and not in the journal'
from inbox i left join journal j on j.key = i.key and j.position = i.position
where j.kind is null or j.kind not like 'message_received.%%'
union all
select p.key || ': the snapshot is newer than the journal'
from snapshots p left join sessions s using (key) where s.key is null or p.position > s.head
union all
select 'the sessions and their waiting messages are counted wrong'
from (select sum(sessions) as sessions, sum(waiting) as waiting from tally) t,
     (select count(*) as sessions, sum(waiting) as waiting from sessions where head > 0) s
where (coalesce(t.sessions, 0), coalesce(t.waiting, 0)) <> (s.sessions, coalesce(s.waiting, 0))
union all
select m.session || ': a row of the transcript is missing'
from (select session, count(*) as count, max(ordinal) as last from messages group by session) m
where m.last <> m.count - 1
limit %(limit)s

-- name: copy_sessions
select key, settled, epoch, created_at, updated_at from sessions order by key

-- name: copy_journal
select key, position, kind, event, at from journal order by key, position

-- name: copy_inbox
select account, message, key, position from inbox order by account, message

-- name: copy_outbox
select id, key, platform, reply, state, attempts, chunks, not_before, receipt, why, created_at,
       sent_at
from outbox order by n

-- name: copy_cursors
select platform, account, name, text from cursors order by platform, account, name

-- name: copy_usage
-- Of deleted sessions: the rest is in the journal.
select key, session, turn, position, ordinal, at, platform, person, model, purpose, input, output,
       cached, cache_written, reasoning, cost
from usage where key = '' order by at

-- name: copy_texts
select digest, text from texts order by digest

-- name: copy_standing
select version from standing

-- name: copy_people
select platform, id, role, name, chat, since, by from people order by platform, id

-- name: copy_invites
select digest, role, made_at, expires_at, by, used_at from invites order by digest

-- name: copy_requests
select id, platform, person, chat, name, text, at from requests order by n

-- name: copy_grants
select id, body, expires_at from grants order by n

-- name: copy_audit
select chain, seq, kind, at, body, encode(seal, 'hex') as seal from audit order by n

-- name: load_standing
update standing set version = greatest(version, %(version)s)

-- name: load_people
insert into people (platform, id, role, name, chat, since, by)
values (%(platform)s, %(id)s, %(role)s, %(name)s, %(chat)s, %(since)s, %(by)s)
on conflict do nothing

-- name: load_invites
insert into invites (digest, role, made_at, expires_at, by, used_at)
values (%(digest)s, %(role)s, %(made_at)s, %(expires_at)s, %(by)s, %(used_at)s)
on conflict do nothing

-- name: load_requests
insert into requests (id, platform, person, chat, name, text, at)
values (%(id)s, %(platform)s, %(person)s, %(chat)s, %(name)s, %(text)s, %(at)s)
on conflict do nothing

-- name: load_grants
insert into grants (id, body, expires_at)
values (%(id)s, convert_to(%(body)s, 'UTF8'), %(expires_at)s)
on conflict do nothing

-- name: load_audit
insert into audit (chain, seq, kind, at, body, seal)
values (%(chain)s, %(seq)s, %(kind)s, %(at)s, convert_to(%(body)s, 'UTF8'),
        decode(%(seal)s, 'hex'))

-- name: load_sessions
insert into sessions (key, id, settled, epoch, created_at, updated_at)
values (%(key)s, '', %(settled)s, %(epoch)s, %(created_at)s, %(updated_at)s)

-- name: load_journal
insert into journal (key, position, kind, event, at)
values (%(key)s, %(position)s, %(kind)s, convert_to(%(event)s, 'UTF8'), %(at)s)

-- name: load_inbox
insert into inbox (account, message, key, position)
values (%(account)s, %(message)s, %(key)s, %(position)s)

-- name: load_outbox
insert into outbox (id, key, platform, chat, reply, state, attempts, chunks, not_before, receipt, why,
                    created_at, sent_at, ordered)
values (%(id)s, %(key)s, %(platform)s, %(chat)s, convert_to(%(reply)s, 'UTF8'), %(state)s,
        %(attempts)s, %(chunks)s, %(not_before)s, %(receipt)s, %(why)s, %(created_at)s, %(sent_at)s,
        %(ordered)s)

-- name: load_cursors
insert into cursors (platform, account, name, text)
values (%(platform)s, %(account)s, %(name)s, %(text)s)

-- name: load_texts
insert into texts (digest, text) values (%(digest)s, %(text)s) on conflict do nothing

-- name: load_usage
insert into usage (
  key, session, turn, position, ordinal, at, platform, person, model, purpose, input, output,
  cached, cache_written, reasoning, cost
)
values (
  %(key)s, %(session)s, %(turn)s, %(position)s, %(ordinal)s, %(at)s, %(platform)s, %(person)s,
  %(model)s, %(purpose)s, %(input)s, %(output)s, %(cached)s, %(cache_written)s, %(reasoning)s,
  %(cost)s
)
