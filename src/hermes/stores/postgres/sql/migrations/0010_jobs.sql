-- Jobs as they are now. Their sessions' journals say the same; `due_at` is when the timer looks next.
create table jobs (
  id      text collate "C" primary key,
  key     text collate "C" not null,
  state   text not null,
  made_at double precision not null,
  cursor  double precision not null,
  due_at  double precision,
  body    bytea not null
);
create index jobs_due on jobs (due_at) where due_at is not null;
create index jobs_key on jobs (key);
