"""hermes turns: what each turn did, step by step."""
