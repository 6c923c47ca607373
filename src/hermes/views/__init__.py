"""Views of sessions for people and programs, computed from events. The engine uses none of them."""
