"""Signed events of other programs: each becomes a turn, once."""
