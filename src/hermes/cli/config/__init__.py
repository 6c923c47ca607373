"""hermes config: read and change settings and secrets."""
