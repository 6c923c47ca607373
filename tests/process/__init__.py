"""The laws of continuity against the real gateway process."""
