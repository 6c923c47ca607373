-- The journal and what is derived from it. Everything that is compared byte for byte sorts by
-- bytes (collate "C"). Columns that change with every append stand in no index of `sessions`, so
-- that PostgreSQL can update the row in place (HOT).

create sequence epochs;

-- Which processes are alive. `token` names the process's connections (application_name), `beats`
-- grows with every renewal of the lease, `server` is the server's life in which that happened.
create table nodes (
  id          text collate "C" primary key,
  token       text not null,
  beats       bigint not null default 0,
  server      timestamptz not null default pg_postmaster_start_time(),
  started_at  double precision not null,
  seen_at     timestamptz not null default now(),
  buried      boolean not null default false
);

-- `head` is the last position, `written` the last one that an owner wrote, `settled` the one up to
-- which the owner found nothing to do. `owner`, `epoch` and `settled` are leases, the rest is
-- derived from the journal.
create table sessions (
  key         text collate "C" primary key,
  id          text collate "C" not null,
  head        bigint not null default 0,
  written     bigint not null default 0,
  settled     bigint not null default 0,
  owner       text collate "C",
  epoch       bigint not null default 0,
  phase       text not null default 'idle',
  mark        text not null default '',
  runs        integer not null default 0,
  waiting     integer not null default 0,
  title       text not null default '',
  rows        integer not null default 0,
  created_at  double precision not null default 0,
  updated_at  double precision not null default 0
) with (fillfactor = 50);

-- Sessions with head > settled. Written under the lock of the session's row.
create table awake (
  key  text collate "C" primary key
);

create table journal (
  key       text collate "C" not null,
  position  bigint not null,
  kind      text not null,
  event     bytea not null,
  at        double precision not null,
  primary key (key, position)
);

create table inbox (
  account   text collate "C" not null,
  message   text collate "C" not null,
  key       text collate "C" not null,
  position  bigint not null,
  primary key (account, message)
);

create table snapshots (
  key       text collate "C" primary key,
  position  bigint not null,
  state     bytea not null
);

create table outbox (
  id          text collate "C" primary key,
  n           bigint generated always as identity,
  key         text collate "C" not null,
  platform    text not null,
  reply       bytea not null,
  state       text not null default 'pending',
  node        text collate "C",
  attempts    integer not null default 0,
  chunks      integer not null default 0,
  not_before  double precision not null default 0,
  receipt     text not null default '',
  why         text not null default '',
  created_at  double precision not null,
  sent_at     double precision
);
create index outbox_open on outbox (platform, n) where state in ('pending', 'failed', 'sending');
create index outbox_key on outbox (key, n);

-- Projections: made again by `rebuild`.

create table conversations (
  id         text collate "C" primary key,
  key        text collate "C" not null,
  opened_at  double precision not null
);
create index conversations_key on conversations (key);

create table messages (
  session  text collate "C" not null,
  ordinal  integer not null,
  role     text not null,
  at       double precision not null,
  line     bytea not null,
  primary key (session, ordinal)
);

-- Rows of the transcript that cannot be found yet; their words are added apart from the commit
-- that wrote them, which waits for nothing but its flush.
create table unread (
  session  text collate "C" not null,
  ordinal  integer not null
);

create table words (
  session  text collate "C" not null,
  ordinal  integer not null,
  words    tsvector not null,
  primary key (session, ordinal)
);
create index words_words on words using gin (words);

create table turns (
  id          text collate "C" primary key,
  key         text collate "C" not null,
  session     text collate "C" not null,
  state       text not null,
  attempts    integer not null,
  started_at  double precision not null,
  ended_at    double precision,
  first       bigint not null
);
create index turns_key on turns (key, started_at desc);
create index turns_started on turns (started_at desc);
