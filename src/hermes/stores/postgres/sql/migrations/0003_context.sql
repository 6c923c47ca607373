-- Texts that many sessions share (system prompts), by the SHA-256 of their bytes.
create table texts (
  digest  text collate "C" primary key,
  text    text not null
);

-- Every model call, for ever. When its session is deleted, what it cost stays: `key` is empty then,
-- and neither conversation nor turn is named. The others are made again by `rebuild`.
create table usage (
  key            text collate "C" not null,
  session        text collate "C" not null,
  turn           text collate "C" not null,
  position       bigint not null,  -- of its event; with `ordinal` unique in the lane
  ordinal        integer not null,
  at             double precision not null,
  platform       text collate "C" not null,
  person         text collate "C" not null,
  model          text collate "C" not null,
  purpose        text collate "C" not null,
  input          bigint not null,
  output         bigint not null,
  cached         bigint not null,
  cache_written  bigint not null,
  reasoning      bigint not null,
  cost           double precision  -- what the provider said, in US dollars
);
create index usage_at on usage (at);
create index usage_key on usage (key, at);

-- Every tool call that has ended.
create table tool_calls (
  key       text collate "C" not null,
  position  bigint not null,
  tool      text collate "C" not null,
  outcome   text not null,
  at        double precision not null,
  seconds   double precision
);
create index tool_calls_at on tool_calls (at);
create index tool_calls_key on tool_calls (key);

-- What the journal says of earlier times. Who spoke is known by the last message of the turn's start.
insert into usage
select a.key, t.session, t.id, a.position, 0, a.at, coalesce(h.inbound #>> '{address,platform}', ''),
       coalesce(h.inbound #>> '{sender,id}', ''), coalesce(a.event ->> 'model', ''),
       case h.inbound ->> 'origin'
         when 'schedule' then 'schedule' when 'parent' then 'subagent'
         when 'background' then 'background' else 'turn' end,
       coalesce((a.event #>> '{usage,input}')::bigint, 0),
       coalesce((a.event #>> '{usage,output}')::bigint, 0),
       coalesce((a.event #>> '{usage,cached}')::bigint, 0),
       coalesce((a.event #>> '{usage,cache_written}')::bigint, 0),
       coalesce((a.event #>> '{usage,reasoning}')::bigint, 0),
       (a.event #>> '{usage,cost}')::double precision
from (
  select key, position, at, convert_from(event, 'UTF8')::json as event from journal
  where kind = 'model_answered.1'
) a
join turns t on t.id = a.event ->> 'turn'
left join (
  select key, event ->> 'turn' as turn, event #>> '{messages,-1}' as message from (
    select key, convert_from(event, 'UTF8')::json as event from journal
    where kind = 'turn_started.1'
  ) j
) s on s.key = a.key and s.turn = t.id
left join (
  select key, inbound, (inbound ->> 'account') || '#' || (inbound ->> 'id') as message from (
    select key, convert_from(event, 'UTF8')::json -> 'inbound' as inbound from journal
    where kind = 'message_received.1'
  ) j
) h on h.key = a.key and h.message = s.message;

insert into tool_calls
select e.key, e.position, a.tool, e.outcome, e.at, greatest(e.at - b.at, 0)
from (
  select key, position, at, event ->> 'call' as call, event ->> 'outcome' as outcome from (
    select key, position, at, convert_from(event, 'UTF8')::json as event from journal
    where kind = 'call_ended.1'
  ) j
) e
join (
  select key, c ->> 'id' as call, c ->> 'tool' as tool
  from journal, json_array_elements(convert_from(event, 'UTF8')::json -> 'calls') c
  where kind = 'model_answered.1'
) a on a.key = e.key and a.call = e.call
left join (
  select key, convert_from(event, 'UTF8')::json ->> 'call' as call, max(at) as at from journal
  where kind = 'call_started.1' group by 1, 2
) b on b.key = e.key and b.call = e.call;
