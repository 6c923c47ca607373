"""The terminal as a channel: one person at one machine, who names a session."""
