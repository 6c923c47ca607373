"""hermes model: which model answers."""
