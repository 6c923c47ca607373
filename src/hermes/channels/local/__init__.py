"""The terminal as a channel: one person at one machine, talking to a lane by its name."""
