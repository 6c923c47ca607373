"""hermes sessions: stored conversations."""
