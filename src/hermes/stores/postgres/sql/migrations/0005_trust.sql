-- Who may come in, and what was allowed for good. Nothing of it can be made from the journal again:
-- `rebuild` leaves it alone. `version` grows with every change to people or grants.
create table standing (
  one      boolean primary key default true check (one),
  version  bigint not null
);
insert into standing (version) values (0);

-- Whoever has read the version holds a lock on the table until its commit. So this waits for what
-- was decided by the old one, and nothing of that is written after it. The lock is a fair one.
create function changed() returns void language plpgsql as $$
begin
  lock table standing in access exclusive mode;
  update standing set version = version + 1;
end
$$;

create table people (
  platform  text collate "C" not null,
  id        text collate "C" not null,
  role      integer not null,
  name      text not null,
  chat      text collate "C" not null,
  since     double precision not null,
  by        text not null,
  primary key (platform, id)
);

create table invites (
  digest      text collate "C" primary key,
  role        integer not null,
  made_at     double precision not null,
  expires_at  double precision not null,
  by          text not null,
  used_at     double precision
);

create table requests (
  n         bigint generated always as identity primary key,
  id        text collate "C" not null unique,
  platform  text collate "C" not null,
  person    text collate "C" not null,
  chat      text collate "C" not null,
  name      text not null,
  text      text not null,
  at        double precision not null,
  unique (platform, person)
);

create table grants (
  n           bigint generated always as identity primary key,
  id          text collate "C" not null unique,
  body        bytea not null,
  expires_at  double precision not null
);

-- What people were asked. Made again by `rebuild`.
create table questions (
  id          text collate "C" primary key,
  key         text collate "C" not null,
  turn        text collate "C" not null,
  tool        text collate "C" not null,
  preview     text not null,
  why         text not null,
  asked_at    double precision not null,
  expires_at  double precision not null,
  state       text not null,
  decided_by  text not null,
  decided_at  double precision
);
create index questions_recent on questions (asked_at, id);
create index questions_key on questions (key);
create index questions_open on questions (expires_at) where state = 'pending';

-- Chains of entries: one that all share for what people do by hand, and one of each process for its
-- group commits. They only grow at their ends, and are cut at their beginnings by a prune. The
-- trigger guards against ourselves; the seals against others.
create table audit (
  n      bigint generated always as identity primary key,
  chain  text collate "C" not null,
  seq    bigint not null,
  kind   text not null,
  at     double precision not null,
  body   bytea not null,
  seal   bytea not null,
  unique (chain, seq)
);
create function audit_stays() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('hermes.pruning', true) = 'on' then
    return old;
  end if;
  raise exception 'what is in the audit log stays as it is';
end
$$;
create trigger audit_stays before update or delete on audit
  for each row execute function audit_stays();
