"""Secrets stay where they belong: every text that leaves us passes one sink that knows them."""
