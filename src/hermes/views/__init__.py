"""What people and programs are told of sessions, from events. The engine needs none of it."""
