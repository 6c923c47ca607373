"""Signed events from other programs: each becomes one turn."""
