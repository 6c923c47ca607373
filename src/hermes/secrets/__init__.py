"""Redact secrets: every text that leaves the process passes one sink that knows them."""
