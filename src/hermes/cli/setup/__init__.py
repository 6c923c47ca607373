"""hermes setup: everything step by step, and the first minute."""
