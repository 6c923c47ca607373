"""hermes demo: show a crash, and what survives it."""
