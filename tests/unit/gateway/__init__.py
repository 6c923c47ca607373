"""The gateway's own parts, each by itself."""
