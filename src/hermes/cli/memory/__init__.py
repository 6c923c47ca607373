"""hermes memory: what Hermes remembers between conversations."""
