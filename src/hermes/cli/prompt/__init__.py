"""hermes prompt: the system prompt and what it costs."""
