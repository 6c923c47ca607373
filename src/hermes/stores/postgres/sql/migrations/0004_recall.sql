-- Words for the search as we make them ourselves (stores/words.py), with a word for the lane and one
-- for the chat of each row, and with its time. What was read before is read again. The
-- list of entries that wait for the index is short: a search reads them one by one.
drop table words;
create table words (
  session  text collate "C" not null,
  ordinal  integer not null,
  at       double precision not null,
  words    tsvector not null,
  primary key (session, ordinal)
);
create index words_words on words using gin (words) with (gin_pending_list_limit = 256);
create index words_at on words (at desc);
truncate unread;
insert into unread (session, ordinal) select session, ordinal from messages;
