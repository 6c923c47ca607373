-- How far each platform has been read. A position moves only after every message before it was accepted.
create table cursors (
  platform text collate "C" not null,
  account  text collate "C" not null,
  name     text collate "C" not null,
  text     text not null,
  primary key (platform, account, name)
);
