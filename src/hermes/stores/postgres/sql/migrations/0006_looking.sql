-- A receipt of the chat from before a reply was sent: what was sent stands behind it, if it arrived.
alter table outbox add column behind text not null default '';
