"""hermes pairing: who may talk to Hermes."""
