"""Look-ups that several commands need: the store, sessions by name, session keys."""
